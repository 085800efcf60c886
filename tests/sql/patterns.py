"""The patterns of examples/sql as holders of a lock use them, read from the very files."""
import os
import re

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "sql")
WRITTEN, REFUSED = "written", "refused"
ORDER = 42
RESOURCE = "orders:42"


def statements(file):
    """The statements of a file by the names that stand above them."""
    with open(os.path.join(EXAMPLES, file), encoding="utf-8") as text:
        sections = re.split(r"^-- name: (.*)$", text.read(), flags=re.MULTILINE)[1:]
    return {name: re.sub(r"--.*", "", body).strip()
            for name, body in zip(sections[::2], sections[1::2])}


class Pattern:
    """Holders with a fence each write the state of one order."""
    file = None
    holder_creates_the_row = False

    def __init__(self):
        self.sql = statements(self.file)

    def lay_out(self, connection):
        for statement in self.sql["schema"].split(";"):
            if statement.strip():
                connection.run(statement)
        if not self.holder_creates_the_row:
            self.create_row(connection)

    def create_row(self, connection):
        connection.run("INSERT INTO orders (id, state) VALUES (:id, 'new')", id=ORDER)

    def prepare(self, connection, fence):
        """What a holder does before it computes what to write; its result goes to write()."""

    def write(self, connection, fence, state, prepared):
        """In a transaction or out of one."""
        changed, _ = connection.run(self.sql["write"], id=ORDER, state=state, fence=fence)
        return WRITTEN if changed == 1 else REFUSED

    def state(self, connection):
        _, rows = connection.run("SELECT state FROM orders WHERE id = :id", id=ORDER)
        return rows[0][0] if rows else None


class FenceColumn(Pattern):
    file = "fence_column.sql"

    def read(self, connection, fence):
        """The order's state, or None where that is refused."""
        _, rows = connection.run(self.sql["read"], id=ORDER, fence=fence)
        return rows[0][0] if rows else None


class Unguarded(FenceColumn):
    """What is wrong: a write that takes any fence. The tests must be able to tell."""

    def __init__(self):
        super().__init__()
        self.sql["write"] = self.sql["write"].replace(" AND fence <= :fence", "")


class Upsert(Pattern):
    file = "upsert.sql"
    holder_creates_the_row = True


class GuardRow(Pattern):
    file = "guard_row.sql"
    holder_creates_the_row = True

    def pass_guard(self, connection, fence):
        connection.run(self.sql["create"], name=RESOURCE)
        return self.pass_row(connection, fence)

    def pass_row(self, connection, fence):
        _, rows = connection.run(self.sql[f"lock in {connection.database}"], name=RESOURCE)
        if rows[0][0] > fence:
            return False
        connection.run(self.sql["raise"], name=RESOURCE, fence=fence)
        return True

    def write(self, connection, fence, state, prepared):
        if not self.pass_guard(connection, fence):
            return REFUSED
        connection.run(self.sql["write"], id=ORDER, state=state)
        connection.run(self.sql["write another"], id=ORDER, state=state)
        return WRITTEN

    def history(self, connection):
        _, rows = connection.run("SELECT state FROM history WHERE order_id = :id ORDER BY state",
                                 id=ORDER)
        return [row[0] for row in rows]


class GuardInOneStatement(GuardRow):
    def pass_guard(self, connection, fence):
        changed, _ = connection.run(self.sql["guard"], name=RESOURCE, fence=fence)
        return changed == 1


class VersionColumn(Pattern):
    file = "version_column.sql"

    def create_row(self, connection):
        connection.run(self.sql["create"], id=ORDER, state="new")

    def prepare(self, connection, fence):
        _, rows = connection.run(self.sql["read"], id=ORDER)
        return rows[0][1]

    def write(self, connection, fence, state, prepared):
        changed, _ = connection.run(self.sql["write"], id=ORDER, state=state, version=prepared)
        return WRITTEN if changed == 1 else REFUSED


FENCED = [FenceColumn, Upsert, GuardRow, GuardInOneStatement]
ALL = [*FENCED, VersionColumn]
