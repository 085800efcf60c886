"""A lock that is handed over: belay run starts its command when the server has heard from it, not before."""
import os
import signal
import time
import unittest

from proxy import Proxy
from support import CliTest, is_running

GRANT_LEASE = 6  # seconds; longer than any that these tests give occasion for
SETTLES = 1.5  # seconds in which a command starts that is to start at once, from 0.5 s away


class RunStartsWhatWasHandedOver(CliTest):
    def far_away(self, delay):
        proxy = Proxy(self.server.socket, delay)
        self.addCleanup(proxy.close)
        return proxy

    def wait_for_handoff(self, proxy, while_it_connects=lambda: None):
        """A holder nearby, and a belay run beyond the proxy that waits for it. Its command says that it has started, and runs on."""
        holder = self.hold()
        waiter = self.start("run", self.name, "--", *self.script("echo $$ >started\nexec sleep 1000"), url=proxy.url())
        while_it_connects()
        self.await_waiters(1)
        return holder, waiter

    def assert_keeps_the_lock_while_stopped(self, waiter):
        """Its command runs, and so nobody else gets the lock, though belay alone is stopped for longer than a grant lasts."""
        command = int(self.await_file("started"))
        waiter.send(signal.SIGSTOP)
        code, _, _ = self.belay("run", "--wait", str(GRANT_LEASE), self.name, "--", "true")
        self.assertTrue(is_running(command))
        self.assertEqual(code, 1)
        waiter.send(signal.SIGCONT)
        waiter.send(signal.SIGTERM)
        self.assertEqual(waiter.finish()[0], 128 + signal.SIGTERM)

    def test_from_far_away_only_when_a_stop_can_do_no_harm(self):
        holder, waiter = self.wait_for_handoff(self.far_away(0.5))
        self.let_go(holder)
        self.assert_keeps_the_lock_while_stopped(waiter)

    def test_only_when_a_stop_can_do_no_harm_where_the_network_once_stood_still(self):
        proxy = self.far_away(0)
        proxy.stop("down")

        def stand_still():
            time.sleep(0.8)
            proxy.proceed()
        holder, waiter = self.wait_for_handoff(proxy, stand_still)
        self.let_go(holder)
        self.assert_keeps_the_lock_while_stopped(waiter)

    def test_only_when_the_network_is_back_that_was_gone_at_the_handoff(self):
        proxy = self.far_away(0.5)
        holder, waiter = self.wait_for_handoff(proxy)
        proxy.stop("up")
        heard = proxy.heard
        self.let_go(holder)
        time.sleep(SETTLES)
        self.assertGreater(proxy.heard, heard)  # it was told
        self.assertFalse(os.path.exists(self.path("started")))
        proxy.proceed()
        self.await_file("started")
        waiter.send(signal.SIGTERM)
        self.assertEqual(waiter.finish()[0], 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
