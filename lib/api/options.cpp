// Options of the C API: each setter checks, keeps the first error, and touches one field.
// The defaults come first, then the environment, then the parameters of the URL, then what was set.
#include <array>
#include <set>
#include <string>

#include "api/handles.h"
#include "api/option_table.h"
#include "base/password_file.h"
#include "base/url.h"

namespace {

using belay::Config;
using belay::Status;

// Notes an error and gives its code.
std::int32_t note(belay_options* options, Status status) {
  const std::int32_t code = status.code;
  if (!status.ok() && options->error.ok()) {
    options->error = std::move(status);
  }
  return code;
}

// Runs a setter's work if the options may still be changed.
template <typename Work>
std::int32_t set(belay_options* options, const char* what, const void* value, Work work) {
  if (options == nullptr) {
    return BELAY_INVALID_ARGUMENT;
  }
  if (options->used) {
    return note(options,
                Status(BELAY_ALREADY_USED,
                       std::string(what) + " was set after the options had made a client"));
  }
  if (value == nullptr) {
    return note(options, Status(BELAY_INVALID_ARGUMENT, std::string(what) + " was NULL"));
  }
  return note(options, work());
}

const belay::Option& named(const char* name) {
  return *belay::find_option(name);
}

// Does the work of a setter of the table's, which the URL's parameters and the environment no
// longer change.
template <typename Work>
std::int32_t choose(belay_options* options, const belay::Option& option, const void* value,
                    Work work) {
  return set(options, option.name, value, [&] {
    Status status = work();
    if (status.ok()) {
      options->chosen.insert(&option);
      options->variables.erase(&option);
    }
    return status;
  });
}

std::int32_t set_number(belay_options* options, const char* name, std::int64_t value) {
  const belay::Option& option = named(name);
  return choose(options, option, &value,
                [&] { return option.set_number(value, &options->config); });
}

std::int32_t set_text(belay_options* options, const belay::Option& option, const char* value) {
  return choose(options, option, value, [&] { return option.set_text(value, &options->config); });
}

// What to write in place of a parameter that is none.
std::string instead_of(const belay::Option& option) {
  const std::string_view name = option.name;
  return name == "url" ? "the URL itself is that option"
         : name == "user" || name == "password"
             ? "user and password stand before the host: redis://user:password@host"
             : "only a setter or belay_options_set takes that option";
}

// Sets what a parameter of a URL says; or what is wrong with it, without a word of its value.
std::string take_parameter(std::string_view name, const std::string& value, Config* config,
                           std::set<const belay::Option*>* taken) {
  const belay::Option* option = belay::find_option(name);
  if (option == nullptr) {
    // Anything may stand here by mistake, but a password hardly looks like an option.
    const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
    return "there is no parameter" + (plain && !name.empty() ? " " + std::string(name) : "") +
           (name == "db" ? ": the database stands after the host, as in redis://host/1 (a cluster "
                           "has only 0)"
                         : "");
  }
  if (option->type == belay::OptionType::kServer || option->type == belay::OptionType::kSecret) {
    return std::string(name) + " is no parameter: " + instead_of(*option);
  }
  if (!taken->insert(option).second) {
    return std::string(name) + " was given twice";
  }
  if (!option->set_text(value, config).ok()) {
    return std::string(name) + " takes " + option->range();
  }
  return "";
}

// Takes a URL with its parameters instead of the one before. Options that were set stay.
Status take_url(belay_options* options, std::string_view url) {
  Config config = options->defaults;
  std::set<const belay::Option*> taken;
  belay::Result<belay::ServerUrl> server =
      belay::parse_url(url, [&](std::string_view name, const std::string& value) {
        return take_parameter(name, value, &config, &taken);
      });
  if (!server.ok()) {
    return server.status;
  }
  config.credentials = std::move(server.value.credentials);
  config.database = server.value.database;
  for (const belay::Option* option : options->chosen) {
    option->copy(options->config, &config);
  }
  for (const belay::Option* option : taken) {
    options->variables.erase(option);
  }
  options->config = std::move(config);
  options->endpoints = std::move(server.value.endpoints);
  options->master = std::move(server.value.master);
  options->of_cluster = server.value.of_cluster;
  options->url_variable = Status();
  return {};
}

// What the environment says of options that have a field.
void take_variables(belay_options* options) {
  for (const belay::Option& option : belay::kOptionTable) {
    const std::string value(belay::environment(option.variable));
    if (option.type == belay::OptionType::kServer || value.empty()) {
      continue;
    }
    Status status = option.type == belay::OptionType::kLevel
                        ? belay::read_log_variable(&options->defaults)
                        : option.set_text(value, &options->defaults);
    if (!status.ok()) {
      if (option.type != belay::OptionType::kLevel) {
        status.message = std::string(option.variable) + ": " + status.message;
      }
      options->variables.emplace(&option, std::move(status));
    }
  }
}

// What is said of an option and put together once.
struct Composed {
  std::string usual;
  std::string range;
};

const Composed& composed_of(const belay::Option& option) {
  static const auto& all = *[] {
    auto* texts = new std::array<Composed, belay::kOptions>;
    const Config config = belay::default_config();
    for (std::size_t i = 0; i < belay::kOptions; ++i) {
      (*texts)[i] = {belay::kOptionTable[i].value_in(config), belay::kOptionTable[i].range()};
    }
    return texts;
  }();
  return all[static_cast<std::size_t>(&option - belay::kOptionTable)];
}

using Setter = std::int32_t (*)(belay_options*, const char*);

Setter setter_of(const belay::Option& option) {
  const std::string_view name = option.name;
  return name == "url"        ? belay_options_set_url
         : name == "user"     ? belay_options_set_user
         : name == "password" ? belay_options_set_password
                              : belay_options_set_password_file;
}

}  // namespace

belay_options* belay_options_new(void) {
  auto* options = new belay_options;
  options->defaults = belay::default_config();
  take_variables(options);
  options->config = options->defaults;
  if (const std::string_view url = belay::environment("BELAY_URL"); !url.empty()) {
    options->url_variable = take_url(options, url);
    if (!options->url_variable.ok()) {
      options->url_variable.message = "BELAY_URL: " + options->url_variable.message;
    }
  }
  return options;
}

void belay_options_free(belay_options* options) {
  delete options;
}

const char* belay_options_error(const belay_options* options) {
  return options == nullptr ? "the options were NULL" : options->trouble().message.c_str();
}

int32_t belay_options_set_url(belay_options* options, const char* url) {
  return set(options, "url", url, [&] { return take_url(options, url); });
}

int32_t belay_options_set_user(belay_options* options, const char* user) {
  return set(options, "user", user, [&] {
    options->user = user;
    return Status();
  });
}

int32_t belay_options_set_password(belay_options* options, const char* password) {
  return set(options, "password", password, [&] {
    options->password = belay::Secret(std::string_view(password));
    options->password_origin = {};
    return Status();
  });
}

int32_t belay_options_set_password_file(belay_options* options, const char* path) {
  return set(options, "password_file", path, [&] {
    belay::Result<belay::PasswordFile> file = belay::read_password_file(path);
    if (file.ok()) {
      options->password = std::move(file.value.password);
      options->password_origin = std::move(file.value.origin);
    }
    return file.status;
  });
}

int32_t belay_options_set_label(belay_options* options, const char* label) {
  return set_text(options, named("label"), label);
}

int32_t belay_options_set_prefix(belay_options* options, const char* prefix) {
  return set_text(options, named("prefix"), prefix);
}

int32_t belay_options_set_watchdog_lease_ms(belay_options* options, int64_t lease_ms) {
  return set_number(options, "watchdog_lease_ms", lease_ms);
}

int32_t belay_options_set_request_timeout_ms(belay_options* options, int64_t timeout_ms) {
  return set_number(options, "request_timeout_ms", timeout_ms);
}

int32_t belay_options_set_max_hold_ms(belay_options* options, int64_t max_hold_ms) {
  return set_number(options, "max_hold_ms", max_hold_ms);
}

int32_t belay_options_set_max_pending(belay_options* options, int64_t count) {
  return set_number(options, "max_pending", count);
}

int32_t belay_options_set_log_level(belay_options* options, int32_t level) {
  return set_number(options, "log_level", level);
}

int32_t belay_options_set_tls_ca_file(belay_options* options, const char* path) {
  return set_text(options, named("tls_ca_file"), path);
}

int32_t belay_options_set_tls_ca_dir(belay_options* options, const char* path) {
  return set_text(options, named("tls_ca_dir"), path);
}

int32_t belay_options_set_tls_cert_file(belay_options* options, const char* path) {
  return set_text(options, named("tls_cert_file"), path);
}

int32_t belay_options_set_tls_key_file(belay_options* options, const char* path) {
  return set_text(options, named("tls_key_file"), path);
}

int32_t belay_options_set_tls_server_name(belay_options* options, const char* name) {
  return set_text(options, named("tls_server_name"), name);
}

int32_t belay_options_set_tls_min_version(belay_options* options, const char* version) {
  return set_text(options, named("tls_min_version"), version);
}

int32_t belay_options_set(belay_options* options, const char* name, const char* value) {
  const belay::Option* option = belay::find_option(name == nullptr ? "" : name);
  if (option == nullptr) {
    return set(options, "the name of the option", name, [&] {
      return Status(BELAY_INVALID_ARGUMENT, "there is no option '" + std::string(name) + "'");
    });
  }
  if (option->type == belay::OptionType::kServer) {
    return setter_of(*option)(options, value);
  }
  return set_text(options, *option, value);
}

const char* belay_options_get(belay_options* options, const char* name) {
  const belay::Option* option = belay::find_option(name == nullptr ? "" : name);
  if (options == nullptr || option == nullptr) {
    return nullptr;
  }
  std::string& value = options->values[option];
  value = option->type == belay::OptionType::kServer ? "" : option->value_in(options->config);
  return value.c_str();
}

const char* belay_option_name(int32_t index) {
  return index >= 0 && static_cast<std::size_t>(index) < belay::kOptions
             ? belay::kOptionTable[index].name
             : nullptr;
}

const char* belay_option_text(const char* name, int32_t what) {
  const belay::Option* option = belay::find_option(name == nullptr ? "" : name);
  if (option == nullptr) {
    return nullptr;
  }
  switch (what) {
    case BELAY_OPTION_ABOUT:
      return option->about;
    case BELAY_OPTION_UNIT:
      return option->unit;
    case BELAY_OPTION_DEFAULT:
      return composed_of(*option).usual.c_str();
    case BELAY_OPTION_RANGE:
      return composed_of(*option).range.c_str();
    case BELAY_OPTION_VARIABLE:
      return option->variable;
    case BELAY_OPTION_SECRET:
      return option->secret ? "secret" : "";
    default:
      return "";
  }
}
