// The words of a fenced write's command, added one by one.
#include "api/handles.h"

belay_words* belay_words_new(void) {
  return new belay_words;
}

void belay_words_free(belay_words* words) {
  delete words;
}

const char* belay_words_error(const belay_words* words) {
  return words == nullptr ? "the words were NULL" : words->error.message.c_str();
}

int32_t belay_words_add(belay_words* words, const char* word, int64_t size) {
  if (words == nullptr) {
    return BELAY_INVALID_ARGUMENT;
  }
  const auto count = static_cast<std::int64_t>(words->list.size());
  const belay::Result<std::string_view> checked =
      belay::checked_word("word " + std::to_string(count), word, size);
  belay::Status status = checked.status;
  if (status.ok() && count == belay::kMostWords) {
    status = belay::Status(BELAY_INVALID_ARGUMENT, "there were " + std::to_string(count) +
                                                       " words before, the most allowed");
  }
  if (status.ok()) {
    words->list.emplace_back(checked.value);
  } else if (words->error.ok()) {
    words->error = status;
  }
  return status.code;
}
