"""What Java has of belay.h's enums: its public enums, an exception for each status, and the numbers of events for the package within."""
import html
import re
import textwrap

from header import abi, in_units, setters, submissions

PACKAGE = "invalid.belay"
SOURCES = "bindings/java/src/generated/java/" + PACKAGE.replace(".", "/")
WRAPPER = ["-java", "-noproxy", "-package", f"{PACKAGE}.internal"]
OUTPUT = {"Native.java": f"{SOURCES}/internal", "belay_wrap.c": "bindings/java/src/generated/c"}

MADE = "// Made from belay.h by bindings/swig/generate.py: change nothing here.\n"
ENUMS = {  # enum of belay.h: its name in Java, what its values' names begin with, what it is
    "belay_status": ("Status", "BELAY_", "How a call ended."),
    "belay_reason": ("Reason", "BELAY_REASON_", "Why a hold is lost or at risk."),
    "belay_state": ("State", "BELAY_HOLD_", "The state of a hold."),
    "belay_primitive": ("Primitive", "BELAY_", "What a name is in use for."),
    "belay_role": ("Role", "BELAY_ROLE_", "What a member of an inspection does."),
    "belay_log_level": ("LogLevel", "BELAY_LOG_", "How important a line of the log is."),
}
NUMBERS = {"belay_kind": "BELAY_EVENT_", "belay_field": "BELAY_", "belay_member": "BELAY_"}
CLASSES = {  # where a class of statuses begins: the parent of its exceptions
    1: ("RetryException", "Nothing is wrong. The same call may succeed later."),
    20: ("RefusedException", "The server refuses until somebody changes something there."),
    40: ("MisuseException", "The call is wrong."),
    60: ("GoneException", "The hold, the submission or the client has ended."),
}
SPECIAL = {"TIMEOUT": "LockTimeoutException", "LOST": "LockLostException", "AUTH_FAILED": "AuthenticationException"}
# A hold that this thread does not have: java.util.concurrent.locks.Lock wants an IllegalMonitorStateException.
NOT_HELD = {"LOST", "UNKNOWN_HOLD"}
ZERO = {"State": ("RELEASED", "It was released or abandoned.")}  # what an enum has in Java alone, as 0
EXTRA = {  # what an exception tells beside what all tell
    "STALE_FENCE": ("fence", "{@return the newest fence that has written the key}"),
    "IN_USE": ("count", "{@return how many counts the latch has still to go}"),
}
OPTIONS = {  # what its setter in Java says of an option otherwise than in C
    "url": "Set the server: redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path, with other options as "
           "parameters, such as ?label=x. redis://a,b,c is a master and its replicas, redis-sentinel://a,b,c/NAME the master that these "
           "sentinels know as NAME. rediss:// and rediss-sentinel:// are the same with TLS. Default: the environment variable BELAY_URL, else redis://localhost:6379.",
    "password": "Set the password, instead of the URL's. No message or log line contains it.",
    "max_pending": "Set how many calls may be pending at once, 1..10000000; default 100000.",
}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def exception(status):
    """The name of a status's exception."""
    name = status.name.removeprefix("BELAY_")
    return SPECIAL.get(name, camel(name) + "Exception")


def parent(status):
    if status.name.removeprefix("BELAY_") in NOT_HELD:
        return "NotHeldException"
    return next(CLASSES[first][0] for first in sorted(CLASSES, reverse=True) if status.number >= first)


def in_java(text):
    """A comment of belay.h in the words of Java."""
    text = text.split(" BELAY_CLASS_")[0].rstrip(".;")
    for c, java in (("BELAY_FIELD_REASON says why", "its reason says why"), ("enum belay_reason", "Reason"), ("belay_cancel", "a cancel"),
                    ("belay_break took it", "a break took it"), ("max_pending", "the option max_pending")):
        text = text.replace(c, java)
    return text


def sentence(name, text):
    """A comment of belay.h as a sentence of Javadoc that begins with what it is about."""
    words = name.replace("_", " ").capitalize()
    if not text:
        return words + "."
    return f"{words}: {html.escape(in_java(text), quote=False)}."


def javadoc(text, indent=""):
    if len(one := f"{indent}/** {text} */") <= 100:
        return one + "\n"
    return "\n".join([f"{indent}/**", *textwrap.wrap(text, 100, initial_indent=f"{indent} * ", subsequent_indent=f"{indent} * "),
                      f"{indent} */\n"])


def public_enum(enum, java, prefix, about):
    values = []
    if java in ZERO:
        values.append(javadoc(ZERO[java][1], "  ") + f"  {ZERO[java][0]}(0)")
    for value in enum.values:
        if value.name in ("BELAY_MEMBER_NAME", "BELAY_ROLE_NAME", "BELAY_ROLE_METRIC"):
            continue
        name = value.name.removeprefix(prefix)
        values.append(javadoc(sentence(name, value.doc), "  ") + f"  {name}({value.number})")
    values.append(javadoc("One that a later version of the library added.", "  ") + "  UNKNOWN(-1)")
    return f"""{MADE}package {PACKAGE};

{javadoc(about)}public enum {java} {{
{(','+chr(10)).join(values)};

  private static final {java}[] ALL = values();

  final int number;

  {java}(int number) {{
    this.number = number;
  }}

  static {java} of(long number) {{
    for ({java} value : ALL) {{
      if (value.number == number) {{
        return value;
      }}
    }}
    return UNKNOWN;
  }}
}}
"""


def exception_class(name, base, about, extra=None, sealed=""):
    more = ""
    if extra:
        more = f"""
{javadoc(extra[1], '  ')}  public long {extra[0]}() {{
    return event.{extra[0]}();
  }}
"""
    return f"""{MADE}package {PACKAGE};

{javadoc(about)}public {sealed}class {name} extends {base} {{
  private static final long serialVersionUID = 1;

  {name}(Event event) {{
    super(event);
  }}
{more}}}
"""


def errors(statuses):
    cases = "\n".join(f"      case {s.number} -> new {exception(s)}(event); // {s.name.removeprefix('BELAY_')}" for s in statuses)
    abouts = "\n".join(f'      case {s.number} -> "{in_java(s.doc)}";' for s in statuses)
    classes = "\n".join(f"      case {i} -> new {name}(event);" for i, (name, _) in enumerate(CLASSES.values(), 1))
    return f"""{MADE}package {PACKAGE};

import {PACKAGE}.internal.Native;

/** The exception of each status. */
final class Errors {{
  private Errors() {{}}

  static RuntimeException of(Event event) {{
    return switch ((int) event.status()) {{
{cases}
      default -> ofClass(event);
    }};
  }}

  /** What a status says where the library told no more than its number. */
  static String about(int status) {{
    return switch (status) {{
{abouts}
      default -> Event.utf8(Native.belayStatusName(status));
    }};
  }}

  /** Of a status that a later version of the library added. */
  private static RuntimeException ofClass(Event event) {{
    return switch (Native.belayStatusClass(event.status())) {{
{classes}
      default -> new BelayException(event);
    }};
  }}
}}
"""


def lower_camel(name):
    """What Java calls an option or a parameter of C: watchdogLease."""
    name = camel(name.removesuffix("_ms"))
    return name[0].lower() + name[1:]


def setter(option, kind, parameter, doc):
    is_time, is_path = option.endswith("_ms"), parameter == "path"
    name, parameter = lower_camel(option), lower_camel(parameter)
    doc = OPTIONS.get(option, in_units(doc) if is_time else doc).replace("it sends an AT_RISK event", "the hold is at risk")
    doc = re.sub(r"belay_options_set_(\w+)", lambda other: f"{{@link #{lower_camel(other.group(1))}}}", doc)
    if "belay_" in doc:
        raise SystemExit(f"java_names.py: say in Java's words: {option}: {doc}")
    verb, rest = doc.split(" ", 1)
    taken, call = {"const char*": ("Path", f'set("{option}", {parameter}.toString())') if is_path else ("String", f'set("{option}", {parameter})'),
                   "int64_t": ("Duration", f'number("{option}", Request.wholeMillis({parameter}, "{parameter}"))') if is_time
                   else ("long", f'number("{option}", {parameter})')}[kind]
    about = "\n".join(textwrap.wrap(f"{verb}s {rest}", 100, initial_indent="   * ", subsequent_indent="   * ", break_on_hyphens=False))
    return f"""
  /**
{about}
   *
   * @param {parameter} the value of the option {option}
   * @return these options
   */
  public Options {name}({taken} {parameter}) {{
    return {call};
  }}
"""


def option_setters():
    return f"""{MADE}package {PACKAGE};

import java.nio.file.Path;
import java.time.Duration;

/** The setters of options. */
abstract class OptionSetters {{
  abstract Options set(String name, String value);

  abstract Options number(String name, long value);
{"".join(setter(*one) for one in setters())}}}
"""


def submission(call, parameters):
    taken, checked, passed = [], [], []
    for kind, name in parameters:
        java = lower_camel(name)
        if kind == "bytes":
            checked.append(f'    Objects.requireNonNull({java}, "{java}");\n')
        elif name.endswith("_ms"):
            checked.append(f'    long {java}Ms = Request.wholeMillis({java}, "{java}");\n')
        taken.append({"bytes": "byte[] ", "const belay_words*": "Handle "}.get(kind, "Duration " if name.endswith("_ms") else "long ") + java)
        passed.append(java + ("Ms" if name.endswith("_ms") else ""))
    arguments = "".join(f", {argument}" for argument in passed)
    return f"""
  static Pump.Submission of{camel(call)}({', '.join(['Pump pump', *taken])}) {{
{''.join(checked)}    return tag -> Native.belaySubmit{camel(call)}(pump.client, tag{arguments});
  }}
"""


def all_submissions():
    return f"""{MADE}package {PACKAGE};

import {PACKAGE}.internal.Handle;
import {PACKAGE}.internal.Native;
import java.time.Duration;
import java.util.Objects;

/** What a pump submits. Arguments are checked before that. */
final class Submissions {{
  private Submissions() {{}}
{"".join(submission(*one) for one in submissions())}}}
"""


def numbers(enums):
    lines = [f"  public static final int {v.name.removeprefix(prefix)} = {v.number};"
             for enum, prefix in NUMBERS.items() for v in enums[enum].values]
    return f"""{MADE}package {PACKAGE}.internal;

/** The numbers of the kinds, fields and members of events, and of the interface of the library. */
public final class Numbers {{
  private Numbers() {{}}

  public static final int ABI = {abi()};
{chr(10).join(lines)}
}}
"""


def FILES(enums):
    files = {f"{SOURCES}/{java}.java": public_enum(enums[name], java, prefix, about) for name, (java, prefix, about) in ENUMS.items()}
    statuses = [s for s in enums["belay_status"].values if s.number != 0]
    for name, about in CLASSES.values():
        files[f"{SOURCES}/{name}.java"] = exception_class(name, "BelayException", about)
    for status in statuses:
        name = status.name.removeprefix("BELAY_")
        about = f"{sentence(name, status.doc)} The status is {{@link Status#{name}}}."
        files[f"{SOURCES}/{exception(status)}.java"] = exception_class(exception(status), parent(status), about, EXTRA.get(name), "final ")
    files[f"{SOURCES}/Errors.java"] = errors(statuses)
    files[f"{SOURCES}/OptionSetters.java"] = option_setters()
    files[f"{SOURCES}/Submissions.java"] = all_submissions()
    files[f"{SOURCES}/internal/Numbers.java"] = numbers(enums)
    return files
