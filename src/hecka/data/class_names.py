"""The classes of the catalogue's sets, in the order of their labels."""

DIGITS = tuple("0123456789")

FASHION = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip

HIRAGANA = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")

LETTERS = tuple("ABCDEFGHIJ")

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

CIFAR100 = tuple(
    """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
    caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant
    flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree
    motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate
    poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider
    squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle
    wardrobe whale willow_tree wolf woman worm
    """.split()  # noqa: SIM905 (the words alone read better than as many quotes)
)

TEXTURES = tuple(
    """
    banded blotchy braided bubbly bumpy chequered cobwebbed cracked crosshatched crystalline dotted fibrous flecked
    freckled frilly gauzy grid grooved honeycombed interlaced knitted lacelike lined marbled matted meshed paisley
    perforated pitted pleated polka-dotted porous potholed scaly smeared spiralled sprinkled stained stratified striped
    studded swirly veined waffled woven wrinkled zigzagged
    """.split()  # noqa: SIM905 (the words alone read better than as many quotes)
)
