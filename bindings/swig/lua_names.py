"""What belay.h's numbers are called in Lua: names.lua for what Lua passes, words.h for what the wrapper makes of events."""
NATIVE = "bindings/lua/native"
OUTPUT = {"belay_wrap.c": NATIVE}
WRAPPER = ["-lua", "-nomoduleglobal", "-no-old-metatable-bindings"]

LUA_HEAD = """--- The numbers of Belay's library by their names, and what each status says. Private, but for `about`.
-- Made by bindings/swig/generate.py from belay.h: do not edit.
return {
"""
C_HEAD = """/* The words for the numbers of events. Made by bindings/swig/generate.py from belay.h: do not edit. */
#ifndef BELAY_LUA_WORDS_H
#define BELAY_LUA_WORDS_H

"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def numbers(word, enum, prefix):
    lines = [f"    {value.name.removeprefix(prefix)} = {value.number},\n" for value in enum.values]
    return f"  {word} = {{\n{''.join(lines)}  }},\n"


def states(enum):
    names = ", ".join(quoted(value.name.removeprefix("BELAY_HOLD_")) for value in sorted(enum.values, key=lambda value: value.number))
    return f"  states = {{ {names} }},\n"


def about(statuses):
    """What each status means, for people: a message where the library gave none."""
    lines = ["  about = {\n"]
    for value in statuses.values:
        text = value.doc.replace("BELAY_FIELD_REASON", "`reason`").replace("by belay_cancel", "the wait was cancelled")
        if value.name != "BELAY_OK":
            if not text or "BELAY_" in text or "belay_" in text:
                raise ValueError(f"{value.name}: belay.h says nothing of it that a user of Lua understands: '{text}'")
            lines.append(f"    {value.name.removeprefix('BELAY_')} = {quoted(text)},\n")
    return "".join(lines) + "  },\n"


def words(word, enum, prefix, change):
    lines = [f"    [{value.number}] = {quoted(change(value.name.removeprefix(prefix)))},\n" for value in enum.values]
    return f"static const char* const {word}_words[] = {{\n{''.join(lines)}}};\n\n"


def FILES(enums):
    lua = (numbers("status", enums["belay_status"], "BELAY_") + numbers("option", enums["belay_option_what"], "BELAY_OPTION_") +
           numbers("primitive", enums["belay_primitive"], "BELAY_") + states(enums["belay_state"]) + about(enums["belay_status"]))
    c = "".join([
        words("class", enums["belay_class"], "BELAY_CLASS_", str), words("reason", enums["belay_reason"], "BELAY_REASON_", str),
        words("kind", enums["belay_kind"], "BELAY_EVENT_", str.lower), words("level", enums["belay_log_level"], "BELAY_LOG_", str.lower),
        words("primitive", enums["belay_primitive"], "BELAY_", str.lower), words("role", enums["belay_role"], "BELAY_ROLE_", str.lower),
    ])
    return {"bindings/lua/belay/names.lua": LUA_HEAD + lua + "}\n", f"{NATIVE}/words.h": C_HEAD + c + "#endif\n"}
