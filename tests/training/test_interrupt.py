import signal
import threading

import pytest

from hecka.training.interrupt import Interrupt


def press():
    signal.raise_signal(signal.SIGINT)


def test_the_first_press_waits_and_the_second_goes_through():
    with Interrupt() as interrupt:
        press()
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            press()


def test_the_callers_handler_comes_back_even_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    interrupt = Interrupt()
    interrupt.__enter__()
    assert signal.getsignal(signal.SIGINT) != before
    interrupt.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert signal.getsignal(signal.SIGINT) == before


def test_another_thread_can_train_without_a_handler():
    seen = []

    def work():
        with Interrupt() as interrupt:
            seen.append(interrupt.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_loader_that_dies_of_the_press_ends_the_epoch_and_any_other_death_is_an_error():
    def dying():
        yield 1
        raise RuntimeError("DataLoader worker exited")

    with Interrupt() as interrupt:
        with pytest.raises(RuntimeError, match="worker"):
            list(interrupt.guard(dying()))
        press()
        assert list(interrupt.guard(dying())) == [1]


def test_a_second_press_stops_a_run_within_the_step(train, hooked, tmp_path):
    def press_twice(step):
        if step == 5:
            press()
            press()

    with pytest.raises(KeyboardInterrupt):
        train(out=tmp_path, method=hooked(hook=press_twice))
    assert not (tmp_path / "checkpoint.safetensors").exists()


def test_without_a_folder_the_press_still_waits_for_the_step(train, hooked, make_members):
    members = make_members()
    steps = []

    def press_at_4(step):
        steps.append(step)
        if step == 4:
            press()

    with pytest.raises(KeyboardInterrupt, match=r"stopped after step 4$"):
        train(members=members, method=hooked(hook=press_at_4))
    assert steps == [1, 2, 3, 4]
