"""The example for a shell in examples/sql/README.md, as it stands there: a shell, the command and psql."""
import os
import re
import subprocess
import tempfile
import unittest

from databases import connect, postgres
from support import BELAY, LIMIT, Server

README = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "sql", "README.md")


class ReadmeExample(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.database = postgres()
        self.database.fresh()
        with open(README, encoding="utf-8") as readme:
            section = readme.read()
        self.command = re.search(r"```sh\n(.*?)```", section, re.DOTALL).group(1)
        directory = tempfile.TemporaryDirectory(prefix="belay-sql-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        with open(os.path.join(self.directory, "pay.sql"), "w", encoding="utf-8") as script:
            script.write(re.search(r"```sql\n(.*?)```", section, re.DOTALL).group(1))

    def run_example(self):
        environment = {"PATH": f"{os.path.dirname(BELAY)}:{os.environ['PATH']}",
                       "BELAY_URL": self.server.url(),
                       "PGHOST": self.database.target, "PGUSER": "postgres"}
        return subprocess.run(self.command, shell=True, timeout=LIMIT, cwd=self.directory,
                              env=environment, check=False).returncode

    def test_writes_unless_a_newer_holder_has(self):
        connection = connect(self.database.target)
        self.addCleanup(connection.close)
        connection.run("CREATE TABLE orders (id BIGINT, state TEXT, fence BIGINT)")
        connection.run("INSERT INTO orders VALUES (42, 'new', 0)")
        state = "SELECT state FROM orders"
        self.assertEqual(self.run_example(), 0)
        self.assertEqual(connection.run(state), (1, [("paid",)]))
        connection.run("UPDATE orders SET state = 'sent', fence = :fence", fence=2**53 - 1)
        self.assertEqual(self.run_example(), 1)
        self.assertEqual(connection.run(state), (1, [("sent",)]))


if __name__ == "__main__":
    unittest.main()
