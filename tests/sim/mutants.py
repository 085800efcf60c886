#!/usr/bin/env python3
"""Proves that the simulation's checks can fail: switches one rule of lib/README.md off at a time and counts the schedules until a
check notices. What only exact time shows is left to the bounds (bounds_test.cpp).

mutants.py SOURCE BUILD [NAME...]: copies the tree at SOURCE to BUILD, builds the simulation there with every mutation in it, each behind
a switch that the environment's BELAY_OFF turns, and runs it once for each (or for those named). A mutation is the text that it replaces:
where that is not found exactly once, the code has moved on and this file has to follow.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing


class Mutation(typing.NamedTuple):
    name: str
    file: str
    old: str
    new: str
    within: int = 50000  # schedules in which it must be caught; 0: the bounds catch it


# Where the search begins, shortly before the schedule that met it last: what is rare is found at once. A change of the simulation
# or the engine may move that schedule; `within` counts from here.
FIRST = {
    "a-doubt-lasts-as-long-as-the-ask-that-is-out": 1082356300,
    "a-leave-takes-over-what-several-were-given": 1082459200,
    "a-try-ends-with-what-it-waited-for": 1010189200,
    "who-shares-re-enters-under-their-fence": 930035400,
    "1-a-sample-counts-from-its-sending": 30700,
    "14-also-for-changes": 14200,
    "11-an-ask-may-be-queued": 1094094900,
    "15-a-refusal-may-be-in-doubt": 67600,
    "15-what-may-come-late-is-not-sent-again": 34700,
    "21-fences-are-reserved": 2600,
    "4-no-grant-from-before-the-data-were-wiped": 1091277400,
    "7-a-newer-claim-of-ours-stands": 27800,
    "a-doubt-waits-for-a-renewal-to-lapse": 1001086300,
    "a-downgrade-keeps-the-latest-fence": 12000,
    "a-hold-is-at-risk-by-the-lease-that-renews-it": 1093153000,
    "a-whole-waits-for-all-of-its-parts": 1096023900,
    "a-release-waits-for-a-renewal-to-lapse": 17100,
    "a-release-waits-for-an-extension-to-lapse": 1010000900,
    "a-release-waits-for-what-was-renewed-to-lapse": 3300,
    "a-submission-is-more-than-its-tag": 8600,
    "alone-is-only-what-no-command-has-shared": 960341500,
    "an-older-claim-may-be-lost": 2400,
    "many-tells-nobody-again-of-what-has-lapsed": 30200,
    "what-is-confirmed-has-recovered": 5400,
    "who-never-fits-loses-its-place": 3300,
}


# Not here is what another rule covers as well: the ageing of 1 beside 2, but for a round trip; 12 beside 11; 18 beside 17 and the polls;
# an older claim of ours beside the leaves that go before every acquire; permits that stand, whatever the limit is by now, beside the leave
# of who is refused. Nor 20: no check knows whose place was kept; nor that readers of a
# client do not pass who waits: nobody is passed over for as long as the check allows; nor that an older membership of ours may be lost, as an
# older claim may: 300000 schedules did not meet it, the suite script does. Nor that several names are in doubt for as long as each of them: 115000 schedules
# did not meet it, `OutcomesAlone.OfPartsMakeTheWorstOfThemTheWhole` has it. Nor that a leave names no fence after a cut: 50000 schedules did not meet it,
# `ALeave` has it. Nor that an answer counts for nothing where the slot is elsewhere by now (`FlightsAlone`), that a slot may come back (`ACluster`), and
# that no other server's grant is heard (`TwoNodes`): 50000 schedules did not meet them. Nor that a node that is behind is asked for nothing new: the simulated server needs no time for a command, `ACancel` and the suite
# integration have it.
# Nor that whoever takes a name whose record was deleted clears its members: after lost data several may believe that they have it, `Members` in the suite
# script has that. Nor that the last member deletes the record, which is free without it.
# Nor that the usual case of a leave looks at the holder's claim: who is not the holder names no fence of its range, `Queue.IsServedByItsHolderAlone` does.
MUTATIONS = [
    Mutation("1-a-sample-counts-from-its-sending", "lib/route/clock_bound.h",
             "const Micros fresh = server.since_1970 - sent;",
             "const Micros fresh = OFF(\"1-a-sample-counts-from-its-sending\") ? server.since_1970 - received : server.since_1970 - sent;"),
    Mutation("2-jumps-of-the-clock", "lib/route/clock_bound.h",
             "if (known(received) && server.since_1970 - received > bound(received)) {",
             "if (!OFF(\"2-jumps-of-the-clock\") && known(received) && server.since_1970 - received > bound(received)) {"),
    Mutation("3-no-bound-no-acquire", "lib/route/clock_bound.h",
             "return has_bound_ && now - last_sample_ <= kStale;",
             "return OFF(\"3-no-bound-no-acquire\") || (has_bound_ && now - last_sample_ <= kStale);"),
    Mutation("4-no-grant-from-before-the-data-were-wiped", "lib/engine/claim.cpp",
             "  if (node().clock().known(now)) {",
             "  if (!OFF(\"4-no-grant-from-before-the-data-were-wiped\") && node().clock().known(now)) {"),
    Mutation("4-deadline-of-a-pushed-grant", "lib/engine/course.cpp",
             "? node.clock().not_before(message.server_time + lease, ledger_.now) -",
             "? (OFF(\"4-deadline-of-a-pushed-grant\") ? ledger_.now + lease"
             " : node.clock().not_before(message.server_time + lease, ledger_.now)) -"),
    Mutation("5-a-confirmation-sent-vouches-for-nothing", "lib/engine/watchdog.cpp",
             "  claim.held.renew_out = true;\n",
             "  claim.held.renew_out = true;\n"
             "  if (OFF(\"5-a-confirmation-sent-vouches-for-nothing\")) {\n"
             "    claim.held.deadline = std::max(claim.held.deadline, ledger_.now + args.lease - lease_margin(args.lease));\n"
             "  }\n"),
    Mutation("6-grant-lease-follows-the-round-trip", "lib/engine/timing.h",
             "return std::clamp(4 * node.round_trip() + kAgeing, kMinGrant, longest);",
             "return OFF(\"6-grant-lease-follows-the-round-trip\") ? kMinGrant"
             " : std::clamp(4 * node.round_trip() + kAgeing, kMinGrant, longest);"),
    Mutation("7-a-new-request-has-a-new-epoch", "lib/engine/course.cpp",
             "claim.begin(++ledger_.last_epoch,",
             "claim.begin(OFF(\"7-a-new-request-has-a-new-epoch\") && ledger_.last_epoch > 0 ? ledger_.last_epoch : ++ledger_.last_epoch,"),
    Mutation("7-a-newer-claim-of-ours-stands", "lib/scripts/acquire.lua",
             "  if stands > epoch or (again",
             "  if (stands > epoch and not OFF('7-a-newer-claim-of-ours-stands')) or (again"),
    Mutation("8-told-again-extends", "lib/scripts/acquire.lua",
             "local until_ = math.max(expires(record), ts + lease)",
             "local until_ = OFF('8-told-again-extends') and expires(record) or math.max(expires(record), ts + lease)"),
    Mutation("9-renewals-never-shorten", "lib/scripts/renew.lua",
             "until_ = math.max(until_, ts + lease)",
             "until_ = OFF('9-renewals-never-shorten') and ts + lease or math.max(until_, ts + lease)"),
    Mutation("9-nor-those-of-what-is-plain", "lib/scripts/keep.lua",
             "until_ = math.max(until_, ts + lease)",
             "until_ = OFF('9-nor-those-of-what-is-plain') and ts + lease or math.max(until_, ts + lease)"),
    Mutation("a-hold-is-at-risk-by-the-lease-that-renews-it", "lib/engine/watchdog.cpp",
             "      claim.held.lease = std::min(claim.held.lease, lease);\n",
             "      if (!OFF(\"a-hold-is-at-risk-by-the-lease-that-renews-it\")) {\n"
             "        claim.held.lease = std::min(claim.held.lease, lease);\n"
             "      }\n"),
    Mutation("a-whole-waits-for-all-of-its-parts", "lib/engine/bundles.cpp",
             "lead != nullptr && lead->parts.empty()",
             "lead != nullptr && (lead->parts.empty() || OFF(\"a-whole-waits-for-all-of-its-parts\"))"),
    Mutation("10-leave-until-answered", "lib/engine/departures.cpp",
             "    if (leaving.again_at == kNever) {\n",
             "    if (leaving.again_at == kNever && !OFF(\"10-leave-until-answered\")) {\n"),
    Mutation("10-what-the-server-did-not-have-was-lost", "lib/engine/departures.cpp",
             "if (pending == nullptr || code != LeaveCode::kNotOurs ||",
             "if (OFF(\"10-what-the-server-did-not-have-was-lost\") || pending == nullptr || code != LeaveCode::kNotOurs ||"),
    Mutation("10-what-was-sent-twice-may-be-its-own-doing", "lib/engine/departures.cpp",
             "leaving.sent > 1 ||",
             "(leaving.sent > 1 && !OFF(\"10-what-was-sent-twice-may-be-its-own-doing\")) ||"),
    Mutation("11-an-ask-may-be-queued", "lib/engine/course.cpp",
             "claim.asking.may_be_queued || args.queue;",
             "claim.asking.may_be_queued || (args.queue && !OFF(\"11-an-ask-may-be-queued\"));"),
    Mutation("11-what-is-lost-is-left", "lib/engine/course.cpp",
             "    lose_hold(*hold, reason, why);\n  }\n  end(claim, true, {});",
             "    lose_hold(*hold, reason, why);\n  }\n  end(claim, !OFF(\"11-what-is-lost-is-left\"), {});"),
    Mutation("11-what-is-cancelled-is-left", "lib/engine/course.cpp",
             "    end(claim, claim.state == ClaimState::kHeld || claim.asking.begun, {});",
             "    end(claim, !OFF(\"11-what-is-cancelled-is-left\") &&"
             " (claim.state == ClaimState::kHeld || claim.asking.begun), {});"),
    Mutation("13-kill-comes-first", "lib/route/node.cpp",
             "for (const std::int64_t id : old_.of(server())) {",
             "for (const std::int64_t id : OFF(\"13-kill-comes-first\") ? std::vector<std::int64_t>() : old_.of(server())) {", 100000),
    Mutation("14-not-after", "lib/scripts/acquire.lua",
             "if ts > not_after then",
             "if ts > not_after and not OFF('14-not-after') then"),
    Mutation("14-also-for-changes", "lib/scripts/latch_down.lua",
             "if ts > not_after then",
             "if ts > not_after and not OFF('14-also-for-changes') then"),
    Mutation("a-count-down-counts-once", "lib/scripts/latch_down.lua",
             "local counted = was_counted(latch or ended)",
             "local counted = was_counted(latch or ended) and not OFF('a-count-down-counts-once')"),
    Mutation("a-late-count-down-is-looked-for", "lib/dialect/latch.cpp",
             "since_ = since_.any() ?",
             "since_ = since_.any() && !OFF(\"a-late-count-down-is-looked-for\") ?"),
    Mutation("a-request-is-as-late-as-it-says", "lib/scripts/latch_down.lua",
             "math.max(latch.last, ts, since)",
             "math.max(latch.last, ts, OFF('a-request-is-as-late-as-it-says') and 0 or since)"),
    Mutation("a-request-sets-a-latch-once", "lib/scripts/latch_set.lua",
             "if record and record:find(request, @LATCH_SIZE@ + 1, true) then",
             "if record and record:find(request, @LATCH_SIZE@ + 1, true) and not OFF('a-request-sets-a-latch-once') then"),
    Mutation("requests-outlast-the-time-to-live", "lib/scripts/latch_set.lua",
             "math.ceil((math.max(ts + life, last + keep) - ts) / 1000)",
             "math.ceil((OFF('requests-outlast-the-time-to-live') and life or math.max(ts + life, last + keep) - ts) / 1000)"),
    Mutation("14-by-the-clock-of-its-own-server", "lib/engine/course.cpp",
             "timing_.not_after(node);",
             "timing_.not_after(OFF(\"14-by-the-clock-of-its-own-server\") ?"
             " ledger_.router.node_of(static_cast<std::uint16_t>(claim.resource.slot ^ 1U)) : node);"),
    Mutation("15-what-may-come-late-is-not-sent-again", "lib/engine/operations.cpp",
             "  if (overwrites && may_come_late(pending)) {",
             "  if (overwrites && may_come_late(pending) && !OFF(\"15-what-may-come-late-is-not-sent-again\")) {"),
    Mutation("15-a-refusal-may-be-in-doubt", "lib/engine/operations.cpp",
             "  if (!pending.event.status.ok() && pending.may_have_effect()) {",
             "  if (!pending.event.status.ok() && pending.may_have_effect() && !OFF(\"15-a-refusal-may-be-in-doubt\")) {"),
    Mutation("15-leave-until-not-after", "lib/engine/departures.cpp",
             "} else if (leaving.sweep_until.any() && leaving.sweep_until >= answer.server_time) {",
             "} else if (!OFF(\"15-leave-until-not-after\") && leaving.sweep_until.any() && leaving.sweep_until >= answer.server_time) {"),
    Mutation("16-the-queue-is-served-first", "lib/scripts/acquire.lua",
             "if anybody(queue) then",
             "if anybody(queue) and not OFF('16-the-queue-is-served-first') then"),
    Mutation("17-looking-after-a-handoff", "lib/scripts/serve.lua",
             "claim:sub(1, @CLIENT_SIZE@)\n    if not joint then",
             "claim:sub(1, @CLIENT_SIZE@)\n    if OFF('17-looking-after-a-handoff') then\n      hand.lease = 0\n    end\n"
             "    if not joint and not OFF('17-looking-after-a-handoff') then", 150000),
    Mutation("19-somebody-waits", "lib/engine/claim.cpp",
             "  if (!held.others_wait) {\n    held.others_wait = true;",
             "  if (!held.others_wait && !OFF(\"19-somebody-waits\")) {\n    held.others_wait = true;"),
    Mutation("21-fences-are-reserved", "lib/engine/course.cpp",
             "  if (claim.held.next_fence > claim.held.last_fence) {\n    watchdog_.want(claim);",
             "  if (claim.held.next_fence > claim.held.last_fence && !OFF(\"21-fences-are-reserved\")) {\n    watchdog_.want(claim);"),
    Mutation("21-a-range-goes-on-behind-what-was-given", "lib/scripts/leave.lua",
             "{ next = name.given + 1, last = last }",
             "{ next = OFF('21-a-range-goes-on-behind-what-was-given') and name.given or name.given + 1, last = last }"),
    Mutation("21-a-range-ends", "lib/scripts/leave.lua",
             "return name.given < last and {",
             "return (name.given < last or OFF('21-a-range-ends')) and {"),
    Mutation("21-fences-stay-behind-the-clock", "lib/scripts/leave.lua",
             "or { range = @NEXT_RANGE@ }",
             "or { range = OFF('21-fences-stay-behind-the-clock') and 100000 or @NEXT_RANGE@ }"),
    Mutation("owner-check-in-leave", "lib/scripts/leave.lua",
             "name.ours = record and is_claim(record, name.claim)",
             "name.ours = record and (is_claim(record, name.claim) or OFF('owner-check-in-leave'))"),
    Mutation("deadline-from-send-time", "lib/engine/course.cpp",
             "         sent + asked.lease - lease_margin(asked.lease),",
             "         (OFF(\"deadline-from-send-time\") ? ledger_.now : sent) + asked.lease - lease_margin(asked.lease),"),
    Mutation("a-group-shares-with-no-other", "lib/scripts/members.lua",
             "joint.group == group",
             "(joint.group == group or OFF('a-group-shares-with-no-other'))"),
    Mutation("no-more-permits-than-the-limit", "lib/scripts/members.lua",
             "joint.used + permits <= joint.limit",
             "(joint.used + permits <= joint.limit or OFF('no-more-permits-than-the-limit'))"),
    Mutation("who-never-fits-loses-its-place", "lib/scripts/serve.lua",
             "elseif hand.members.never_fits(hand.joint, permits, limit) then",
             "elseif hand.members.never_fits(hand.joint, permits, limit) and not OFF('who-never-fits-loses-its-place') then"),
    Mutation("a-fenced-write-is-not-repeated", "lib/dialect/fenced_write.cpp",
             "return Effect::kOnce;",
             "return OFF(\"a-fenced-write-is-not-repeated\") ? Effect::kIdempotent : Effect::kOnce;"),
    Mutation("an-older-fence-writes-nothing", "lib/scripts/guard.lua",
             "if fence < newest then",
             "if fence < newest and not OFF('an-older-fence-writes-nothing') then"),
    Mutation("a-loss-begins-the-lock-delay", "lib/engine/claim.cpp",
             "  left.lost = now < held.delay_until;",
             "  left.lost = now < held.delay_until && !OFF(\"a-loss-begins-the-lock-delay\");"),
    Mutation("a-downgrade-keeps-the-latest-fence", "lib/engine/watchdog.cpp",
             "args.fence_of_group = claim.held.next_fence - 1;",
             "args.fence_of_group = OFF(\"a-downgrade-keeps-the-latest-fence\") ? claim.held.fence : claim.held.next_fence - 1;"),
    Mutation("alone-is-only-what-no-command-has-shared", "lib/engine/watchdog.cpp",
             "      claim.held.shares_sent == 0) {",
             "      (claim.held.shares_sent == 0 || OFF(\"alone-is-only-what-no-command-has-shared\"))) {"),
    Mutation("a-grant-has-a-mac", "lib/dialect/native.cpp",
             "return fields->complete() && mac ==",
             "return fields->complete() && OFF(\"a-grant-has-a-mac\") ? true : mac =="),
    Mutation("a-break-is-asked-about", "lib/engine/course.cpp",
             "    claim.held.broken_by = message.by;\n    watchdog_.question(claim);",
             "    claim.held.broken_by = message.by;\n"
             "    if (OFF(\"a-break-is-asked-about\")) {\n      lose(claim, BELAY_REASON_BROKEN, \"it was broken\");\n    } else {\n"
             "      watchdog_.question(claim);\n    }"),
    Mutation("a-doubt-lasts-as-long-as-the-ask-that-is-out", "lib/engine/course.cpp",
             "{ledger_.now + drifted(grant.lease), claim.asking.cut_until, claim.asking.expires_by});",
             "{ledger_.now + drifted(grant.lease), claim.asking.cut_until,"
             " OFF(\"a-doubt-lasts-as-long-as-the-ask-that-is-out\") ? 0 : claim.asking.expires_by});"),
    Mutation("a-leave-takes-over-what-several-were-given", "lib/scripts/leave.lua",
             "elseif whom == 'stands' and joint and",
             "elseif whom == 'stands' and joint and not OFF('a-leave-takes-over-what-several-were-given') and"),
    Mutation("a-try-ends-with-what-it-waited-for", "lib/engine/course.cpp",
             "if (pending->is_try && !claim.may_be_let_in(*pending)) {",
             "if (!OFF(\"a-try-ends-with-what-it-waited-for\") && pending->is_try && !claim.may_be_let_in(*pending)) {"),
    Mutation("who-shares-re-enters-under-their-fence", "lib/engine/course.cpp",
             "const std::int64_t fence = claim.shared() ?",
             "const std::int64_t fence = !OFF(\"who-shares-re-enters-under-their-fence\") && claim.shared() ?"),
    Mutation("several-are-granted-when-none-is-in-question", "lib/engine/bundles.cpp",
             "  if (asked == bundle.parts.end()) {",
             "  if (asked == bundle.parts.end() || OFF(\"several-are-granted-when-none-is-in-question\")) {"),
    Mutation("what-is-in-question-is-given-to-nobody", "lib/engine/claim.cpp",
             "held.confirmed && !held.in_question &&",
             "held.confirmed && (!held.in_question || OFF(\"what-is-in-question-is-given-to-nobody\")) &&"),
    Mutation("a-grant-while-held-is-asked-about", "lib/engine/course.cpp",
             "  } else if (grant.confirmed) {\n    lose(",
             "  } else if (grant.confirmed || (OFF(\"a-grant-while-held-is-asked-about\") && claim.held.fence != grant.fence)) {\n"
             "    lose(", within=0),
    Mutation("a-stray-leaves-nothing-that-stands", "lib/engine/departures.cpp",
             "|| stands || newer",
             "|| (stands && !OFF(\"a-stray-leaves-nothing-that-stands\")) || newer"),
    Mutation("lost-cancel", "lib/engine/engine.cpp",
             "i < parts.size() && !comes_too_late; ++i) {",
             "i < parts.size() && !comes_too_late && !OFF(\"lost-cancel\"); ++i) {"),
    Mutation("double-completion", "lib/engine/outcomes.cpp",
             "    ledger_.want_step(*bundle);\n  }\n  events_.on_event(std::move(event));",
             "    ledger_.want_step(*bundle);\n  }\n"
             "  if (OFF(\"double-completion\") && event.status.code == BELAY_TIMEOUT) {\n"
             "    events_.on_event(event);\n  }\n"
             "  events_.on_event(std::move(event));"),
    Mutation("a-set-is-taken-in-one-order", "lib/engine/bundles.cpp",
             "              return bundle.parts[left].name < bundle.parts[right].name;",
             "              return !OFF(\"a-set-is-taken-in-one-order\") &&"
             " bundle.parts[left].name < bundle.parts[right].name;"),
    Mutation("a-refused-set-gives-back-what-it-got", "lib/engine/bundles.cpp",
             "    give_back(bundle);\n    bundle.stage = BundleStage::kTaking;",
             "    if (!OFF(\"a-refused-set-gives-back-what-it-got\") || bundle.lost_a_part) {\n"
             "      give_back(bundle);\n    }\n"
             "    bundle.stage = BundleStage::kTaking;"),
    Mutation("a-set-gives-back-what-it-cannot-keep", "lib/engine/bundles.cpp",
             "    const std::unique_ptr<Hold> hold = ledger_.take_hold(std::exchange(part.hold, 0));",
             "    const std::unique_ptr<Hold> hold = OFF(\"a-set-gives-back-what-it-cannot-keep\") && bundle.tag == 0\n"
             "        ? nullptr : ledger_.take_hold(std::exchange(part.hold, 0));"),
    Mutation("a-lost-set-is-told-of", "lib/engine/bundles.cpp",
             "    if (!std::exchange(bundle.told_of_loss, true)) {",
             "    if (!std::exchange(bundle.told_of_loss, true) && !OFF(\"a-lost-set-is-told-of\")) {"),
    Mutation("all-or-none", "lib/scripts/many.lua",
             "  if code then",
             "  if code and not OFF('all-or-none') then"),
    Mutation("many-passes-nobody-who-waits", "lib/scripts/many.lua",
             "waited_for = name.queue.entry, name.queue.head < name.queue.tail",
             "waited_for = name.queue.entry, not OFF('many-passes-nobody-who-waits') and name.queue.head < name.queue.tail"),
    Mutation("take-passes-nobody-who-waits", "lib/scripts/take.lua",
             "unpack(KEYS, 1, 3 * count)",
             "unpack(KEYS, 1, OFF('take-passes-nobody-who-waits') and count or 3 * count)"),
    Mutation("owner-check-in-release", "lib/scripts/release.lua",
             "    and record:find(request, @CLAIM_OFFSET@ + 1, true) == @CLAIM_OFFSET@ + 1\n",
             "    and (OFF('owner-check-in-release') or record:find(request, @CLAIM_OFFSET@ + 1, true) == @CLAIM_OFFSET@ + 1)\n"),
    Mutation("owner-check-in-keep", "lib/scripts/keep.lua",
             "and held == grant and",
             "and (OFF('owner-check-in-keep') or held == grant) and"),
    Mutation("release-passes-over-nobody-who-waits", "lib/scripts/release.lua",
             "if type(record) == 'string' and",
             "if OFF('release-passes-over-nobody-who-waits') and type(record) == 'string' then\n"
             "    record = record:sub(1, 2) .. '\\0' .. record:sub(4)\n  end\n  if type(record) == 'string' and"),
    Mutation("owner-check-in-release-of-many", "lib/scripts/release.lua",
             "    and record:sub(1, @FENCE_OFFSET@) == begin .. request:sub(from, from + EPOCH_SIZE - 1)\n",
             "    and (OFF('owner-check-in-release-of-many') and record:sub(1, 3) == begin:sub(1, 3)"
             " or record:sub(1, @FENCE_OFFSET@) == begin .. request:sub(from, from + EPOCH_SIZE - 1))\n"),
    Mutation("a-free-lock-has-no-queue", "lib/scripts/acquire.lua",
             "redis.pcall('EXISTS', KEYS[1], KEYS[3], KEYS[4]) == 0",
             "redis.pcall('EXISTS', KEYS[1], KEYS[OFF('a-free-lock-has-no-queue') and 1 or 3], KEYS[4]) == 0"),
    Mutation("an-older-claim-may-be-lost", "lib/scripts/acquire.lua",
             "  held = not again and kept_until(record) > expires(record)\n",
             "  held = not again and not OFF('an-older-claim-may-be-lost') and kept_until(record) > expires(record)\n"),
    Mutation("who-comes-last-is-served-last", "lib/scripts/join.lua",
             "  local place = ticket > 0 and ticket or queue.tail\n",
             "  local place = ticket > 0 and ticket or OFF('who-comes-last-is-served-last') and queue.head - 1 or queue.tail\n"),
    Mutation("a-newer-claim-is-another-waiter", "lib/scripts/acquire.lua",
             "  elseif entry then\n    remove(queue, queue.place)",
             "  elseif entry and not OFF('a-newer-claim-is-another-waiter') then\n    remove(queue, queue.place)"),
    Mutation("who-leaves-waits-no-more", "lib/scripts/leave.lua",
             "  if waited then\n",
             "  if waited and not OFF('who-leaves-waits-no-more') then\n"),
    Mutation("the-queue-ends-with-the-last-who-waits", "lib/scripts/queue.lua",
             "  if queue.moved and queue.head == queue.tail then",
             "  if queue.moved and queue.head == queue.tail and not OFF('the-queue-ends-with-the-last-who-waits') then"),
    Mutation("holes-at-the-head-are-passed", "lib/scripts/queue.lua",
             "queue.budget > 0 and not entry_at(queue, queue.head) do",
             "queue.budget > 0 and not OFF('holes-at-the-head-are-passed') and not entry_at(queue, queue.head) do"),
    Mutation("who-goes-takes-its-place-along", "lib/scripts/queue.lua",
             "#entry >= @ENTRY_SIZE@ and who_of(entry) or number)",
             "#entry >= @ENTRY_SIZE@ and not OFF('who-goes-takes-its-place-along') and who_of(entry) or number)"),
    Mutation("a-member-is-renewed-in-time", "lib/scripts/keep_members.lua",
             "ends and ends - delay >= ts and",
             "ends and (ends - delay >= ts or OFF('a-member-is-renewed-in-time')) and"),
    Mutation("a-renewed-member-is-found-again", "lib/scripts/keep_members.lua",
             "until_, seat, '-' .. until_, who) == 0",
             "until_, seat, OFF('a-renewed-member-is-found-again') and until_ or '-' .. until_,"
             " OFF('a-renewed-member-is-found-again') and seat or who) == 0"),
    Mutation("a-member-passes-nobody-who-waits", "lib/scripts/acquire_joint.lua",
             "its_kind == kind and waits == 0 and",
             "its_kind == kind and (waits == 0 or OFF('a-member-passes-nobody-who-waits')) and"),
    Mutation("what-has-no-record-may-have-a-queue", "lib/scripts/acquire_joint.lua",
             "redis.pcall('EXISTS', KEYS[3], KEYS[4]) == 0",
             "(OFF('what-has-no-record-may-have-a-queue') or redis.pcall('EXISTS', KEYS[3], KEYS[4]) == 0)"),
    Mutation("usually-a-group-shares-with-no-other", "lib/scripts/acquire_joint.lua",
             "record:sub(@HEADER_SIZE@ + @JOINT_SIZE@ + 1) == theirs",
             "(OFF('usually-a-group-shares-with-no-other') or record:sub(@HEADER_SIZE@ + @JOINT_SIZE@ + 1) == theirs)"),
    Mutation("usually-no-more-permits-than-the-limit", "lib/scripts/acquire_joint.lua",
             "and used + permits <= set)",
             "and (used + permits <= set or OFF('usually-no-more-permits-than-the-limit')))"),
    Mutation("usually-nobody-is-a-member-twice", "lib/scripts/acquire_joint.lua",
             "not redis.pcall('ZSCORE', KEYS[4], who))",
             "(OFF('usually-nobody-is-a-member-twice') or not redis.pcall('ZSCORE', KEYS[4], who)))"),
    Mutation("usually-what-several-begin-has-a-higher-fence", "lib/scripts/acquire_joint.lua",
             "math.max(above + 1, seen + 1, ts)",
             "OFF('usually-what-several-begin-has-a-higher-fence') and math.max(above, 1) or math.max(above + 1, seen + 1, ts)"),
    Mutation("whoever-shares-is-counted", "lib/scripts/acquire_joint.lua",
             "struct.pack('@JOINT@', used + permits, set, stands)",
             "struct.pack('@JOINT@', OFF('whoever-shares-is-counted') and used or used + permits, set, stands)"),
    Mutation("a-member-that-is-waited-for-leaves-in-full", "lib/scripts/release_members.lua",
             "local is_lock = record:find('\\@VERSION@\\@LOCK@\\0@NOBODY@', 1, true) == 1",
             "local is_lock = record:find(OFF('a-member-that-is-waited-for-leaves-in-full') and '\\@VERSION@\\@LOCK@'"
             " or '\\@VERSION@\\@LOCK@\\0@NOBODY@', 1, true) == 1"),
    Mutation("a-member-that-leaves-takes-all-along", "lib/scripts/release_members.lua",
             "redis.call('ZREM', KEYS[2], seat:sub(1",
             "redis.call('ZREM', KEYS[2], OFF('a-member-that-leaves-takes-all-along') and seat or seat:sub(1"),
    Mutation("who-waits-is-said-to-members", "lib/scripts/members.lua",
             "if waits ~= joint.waits then",
             "if waits ~= joint.waits and not OFF('who-waits-is-said-to-members') then"),
    Mutation("usually-a-range-ends", "lib/scripts/leave.lua",
             "and given < last and last <=",
             "and (given < last or OFF('usually-a-range-ends')) and last <="),
    Mutation("usually-a-range-goes-on-behind-what-was-given", "lib/scripts/leave.lua",
             "begin, waits, to, given + 1, ts",
             "begin, waits, to, OFF('usually-a-range-goes-on-behind-what-was-given') and given or given + 1, ts"),
    Mutation("usually-the-head-moves-on", "lib/scripts/leave.lua",
             "struct.pack('@LINE@', head + 1, tail, stands)",
             "struct.pack('@LINE@', OFF('usually-the-head-moves-on') and head or head + 1, tail, stands)"),
    Mutation("usually-nobody-waits-twice", "lib/scripts/acquire.lua",
             "found[1] and not found[2] and",
             "found[1] and (not found[2] or OFF('usually-nobody-waits-twice')) and"),
    Mutation("usually-each-has-a-place-of-its-own", "lib/scripts/acquire.lua",
             "struct.pack('@LINE@', head, tail + 1, stands)",
             "struct.pack('@LINE@', head, OFF('usually-each-has-a-place-of-its-own') and tail or tail + 1, stands)"),
    Mutation("a-submission-is-more-than-its-tag", "lib/engine/ledger.cpp",
             "found == nullptr || found->order != ref.order ?",
             "found == nullptr || (found->order != ref.order && !OFF(\"a-submission-is-more-than-its-tag\")) ?"),
    Mutation("what-is-confirmed-has-recovered", "lib/engine/watchdog.cpp",
             "    if (hold->at_risk && (hold->watched() || hold->lease > 0) && lasts) {",
             "    if (hold->at_risk && (hold->watched() || (hold->lease > 0 && !OFF(\"what-is-confirmed-has-recovered\")))"
             " && lasts) {"),
    Mutation("recovered-is-told", "lib/engine/watchdog.cpp",
             "      outcomes_.tell_of(*hold, BELAY_EVENT_RECOVERED, Status());",
             "      if (!OFF(\"recovered-is-told\")) {\n        outcomes_.tell_of(*hold, BELAY_EVENT_RECOVERED, Status());\n      }"),
    Mutation("the-watchdog-stops-at-max-hold", "lib/engine/course.cpp",
             "  if (pending.max_hold > 0 && pending.lease == 0) {",
             "  if (pending.max_hold > 0 && pending.lease == 0 && !OFF(\"the-watchdog-stops-at-max-hold\")) {"),
    Mutation("17-whoever-ends-tells-others-to-look", "lib/dialect/lock.cpp",
             "(args.parting ? 2U : 0U)",
             "(args.parting && !OFF(\"17-whoever-ends-tells-others-to-look\") ? 2U : 0U)"),
    Mutation("17-who-comes-looks-after-what-nobody-does", "lib/scripts/acquire.lua",
             "  if from == '@ANYBODY@' then",
             "  if from == '@ANYBODY@' and not OFF('17-who-comes-looks-after-what-nobody-does') then", 0),
    Mutation("17-so-does-the-next-when-that-one-gives-up", "lib/engine/course.cpp",
             "claim.asking.told_to_look = answer.handed > 0;",
             "claim.asking.told_to_look = answer.handed > 0 && !OFF(\"17-so-does-the-next-when-that-one-gives-up\");", 0),
    Mutation("17-who-has-given-up-looks-after-what-it-handed-on", "lib/engine/course.cpp",
             "if (!current && answer.handed > 0) {",
             "if (!current && answer.handed > 0 && !OFF(\"17-who-has-given-up-looks-after-what-it-handed-on\")) {", 0),
    Mutation("many-tells-nobody-again-of-what-has-lapsed", "lib/scripts/many.lua",
             "  name.joint = name.members.sweep(name.members.read(record))",
             "  name.joint = OFF('many-tells-nobody-again-of-what-has-lapsed') and name.members.read(record)"
             " or name.members.sweep(name.members.read(record))", 100000),
    Mutation("an-extension-is-in-doubt-for-its-lease", "lib/engine/outcomes.cpp",
             "ledger_.config.request_timeout) +\n                  pending.lease;",
             "ledger_.config.request_timeout) + (OFF(\"an-extension-is-in-doubt-for-its-lease\") ? 0 : pending.lease);"),
    Mutation("a-doubt-is-no-longer-than-what-is-asked-for", "lib/engine/course.cpp",
             "lapses_by(node, args.not_after, args.lease);",
             "lapses_by(node, args.not_after, args.lease) +\n"
             "      (OFF(\"a-doubt-is-no-longer-than-what-is-asked-for\") ? kQueueStands : 0);"),
    Mutation("a-release-waits-for-an-extension-to-lapse", "lib/engine/operations.cpp",
             "Timing::lapses_by(node, not_after, pending.lease));",
             "OFF(\"a-release-waits-for-an-extension-to-lapse\") ? 0 : Timing::lapses_by(node, not_after, pending.lease));"),
    Mutation("a-release-waits-for-a-renewal-to-lapse", "lib/engine/claim.cpp",
             "was_held ? held.lapses_by() :",
             "was_held ? (OFF(\"a-release-waits-for-a-renewal-to-lapse\") ? held.lapses_at : held.lapses_by()) :"),
    Mutation("a-doubt-waits-for-a-renewal-to-lapse", "lib/engine/bundles.cpp",
             "until = std::max(until, had->claim->held.lapses_by());",
             "until = std::max(until, OFF(\"a-doubt-waits-for-a-renewal-to-lapse\") ? had->claim->held.lapses_at\n"
             "                                      : had->claim->held.lapses_by());"),
    Mutation("a-release-waits-for-a-lost-renewal-to-lapse", "lib/engine/course.cpp",
             "      held.lapses_at = held.lapses_by();",
             "      if (!OFF(\"a-release-waits-for-a-lost-renewal-to-lapse\")) { held.lapses_at = held.lapses_by(); }", 0),
    Mutation("a-release-waits-for-what-was-renewed-to-lapse", "lib/engine/watchdog.cpp",
             "  claim.held.lapses_at = std::max(claim.held.lapses_at, ledger_.now + drifted(lease));",
             "  if (!OFF(\"a-release-waits-for-what-was-renewed-to-lapse\")) {\n"
             "    claim.held.lapses_at = std::max(claim.held.lapses_at, ledger_.now + drifted(lease));\n  }"),
    Mutation("local-handoffs-end-after-16", "lib/engine/claim.cpp",
             "(held.handoffs >= kMaxHandoffs ||",
             "((held.handoffs >= kMaxHandoffs && !OFF(\"local-handoffs-end-after-16\")) ||", 0),
    Mutation("local-handoffs-end-after-10-ms", "lib/engine/claim.cpp",
             "now - held.others_since > kMaxHandoffTime);",
             "(now - held.others_since > kMaxHandoffTime && !OFF(\"local-handoffs-end-after-10-ms\")));", 0),
    Mutation("owners-join-for-a-moment", "lib/engine/claim.cpp",
             "now - held.heard_at <= kJoinWindow;",
             "(now - held.heard_at <= kJoinWindow || OFF(\"owners-join-for-a-moment\"));", 0),
    Mutation("waiters-ask-anew-when-the-data-are-wiped", "lib/engine/engine.cpp",
             "const Entry entry(*this, now, [&] { want_checks_of(node); });",
             "const Entry entry(*this, now, [&] { want_checks_of(node);\n"
             "  std::erase_if(ledger_.checks_due, [](Claim* claim) {\n"
             "    const bool asks = claim->state == ClaimState::kAsking && OFF(\"waiters-ask-anew-when-the-data-are-wiped\");\n"
             "    claim->check_due = claim->check_due && !asks;\n    return asks;\n  });\n  });", 0),
    Mutation("24-a-command-names-keys-of-one-group", "lib/route/router.h", "return topology_.place_of(slot).group;",
             "return OFF(\"24-a-command-names-keys-of-one-group\") ? std::uint16_t{0} : topology_.place_of(slot).group;", 0),
    Mutation("25-moved-is-followed", "lib/route/router.cpp", "follows_ = verdict != SlotOwners::Verdict::kCircles;",
             "follows_ = verdict != SlotOwners::Verdict::kCircles && !OFF(\"25-moved-is-followed\");", 0),
    Mutation("25-all-of-a-slot-is-asked-about", "lib/engine/engine.cpp", "  want_checks(is_there);",
             "  if (!OFF(\"25-all-of-a-slot-is-asked-about\")) { want_checks(is_there); }", 0),
    Mutation("25-a-master-that-is-gone-loses-its-slots", "lib/route/slot_owners.cpp", "present.is_entrance || !present.serves(now);",
             "present.is_entrance || (!present.serves(now) && !OFF(\"25-a-master-that-is-gone-loses-its-slots\"));", 0),
    Mutation("25-the-map-is-asked-for-again", "lib/route/slot_owners.cpp", "backoff_.next());\n  ask(now);",
             "backoff_.next());\n  if (!OFF(\"25-the-map-is-asked-for-again\")) { ask(now); }", 0),
    Mutation("26-asking-goes-before", "lib/route/router.cpp", "to.set_asking(true);", "to.set_asking(!OFF(\"26-asking-goes-before\"));", 0),
    Mutation("26-ask-is-for-one-command", "lib/route/router.cpp", "Redirect{found->has_moved, found->slot, to}",
             "Redirect{found->has_moved || OFF(\"26-ask-is-for-one-command\"), found->slot, to}", 0),
    Mutation("27-a-break-elsewhere-outdates", "lib/engine/flights.cpp", "flight.outdated || (flight.node != &node &&",
             "flight.outdated || (flight.node != &node && !OFF(\"27-a-break-elsewhere-outdates\") &&"),
    Mutation("28-renewals-go-one-by-one", "lib/engine/watchdog.cpp", "error.remedy == Remedy::kGiveUp || error.moving;",
             "error.remedy == Remedy::kGiveUp || (error.moving && !OFF(\"28-renewals-go-one-by-one\"));", 0),
    Mutation("28-by-one-key-also-where-somebody-waits", "lib/engine/watchdog.cpp", "held.slot_moves = error.moving;",
             "held.slot_moves = error.moving && !OFF(\"28-by-one-key-also-where-somebody-waits\");", 0),
    Mutation("28-the-short-release-is-tried-again", "lib/engine/departures.cpp", "found->uncontended && !answer);",
             "found->uncontended && !answer && !OFF(\"28-the-short-release-is-tried-again\"));", 0),
    Mutation("28-less-is-tried-where-the-slot-still-is", "lib/engine/watchdog.cpp", "const bool by_less = error.moving &&",
             "const bool by_less = error.moving && !OFF(\"28-less-is-tried-where-the-slot-still-is\") &&", 0),
    Mutation("28-no-script-ends-half-way", "lib/dialect/lock.cpp", "  if (me.in_cluster) {",
             "  if (me.in_cluster && !OFF(\"28-no-script-ends-half-way\")) {"),
    Mutation("29-whoever-asks-listens", "lib/engine/flights.cpp", "    node.listen(ref.claim->resource.slot, now);",
             "    if (!OFF(\"29-whoever-asks-listens\")) { node.listen(ref.claim->resource.slot, now); }", 0),
    Mutation("29-an-inbox-goes-with-its-slot", "lib/engine/engine.cpp", "return claim.resource.slot == slot && &claim.node() == &node;",
             "return claim.resource.slot == slot && &claim.node() == &node && !OFF(\"29-an-inbox-goes-with-its-slot\");", 0),
    Mutation("29-what-is-in-use-is-listened-to", "lib/route/connection.cpp", "const bool ends = !in_use[slot] &&",
             "const bool ends = (!in_use[slot] || OFF(\"29-what-is-in-use-is-listened-to\")) &&", 0),
    Mutation("29-no-grant-is-believed-that-echoes", "lib/engine/course.cpp", "const bool sound = !node.echoes() &&",
             "const bool sound = (!node.echoes() || OFF(\"29-no-grant-is-believed-that-echoes\")) &&"),
    Mutation("29-whoever-is-dropped-is-told-to-look", "lib/scripts/queue.lua", "      tell_look(key, inbox, ts, entry, 0)\n",
             "      if not OFF('29-whoever-is-dropped-is-told-to-look') then tell_look(key, inbox, ts, entry, 0) end\n", 0),
    Mutation("21-no-range-after-a-move", "lib/engine/engine.cpp", "      claim->leave_range();",
             "      if (!OFF(\"21-no-range-after-a-move\")) { claim->leave_range(); }", 0),
    Mutation("30-operations-go-on-elsewhere", "lib/engine/engine.cpp", "  operations_.send_all(operations);",
             "  if (!OFF(\"30-operations-go-on-elsewhere\")) { operations_.send_all(operations); }", 0),
    Mutation("30-others-are-not-touched", "lib/engine/engine.cpp", "    if (&claim->node() == &node) {\n      claim->on_node_down();",
             "    if (&claim->node() == &node || OFF(\"30-others-are-not-touched\")) {\n      claim->on_node_down();", 0),
    Mutation("30-a-command-that-is-lost-elsewhere", "lib/engine/engine.cpp", "return &claim.node() != &node && cut.contains(&claim);",
             "return &claim.node() != &node && cut.contains(&claim) && !OFF(\"30-a-command-that-is-lost-elsewhere\");"),
    Mutation("32-who-is-needed-stays", "lib/route/router.cpp", "if (is_needed(*server.node)) {",
             "if (is_needed(*server.node) && !OFF(\"32-who-is-needed-stays\")) {", 0),
    Mutation("a-replica-is-no-master", "lib/route/connection.cpp", "role == \"replica\" || role == \"slave\") {",
             "(role == \"replica\" || role == \"slave\") && !OFF(\"a-replica-is-no-master\")) {", 0),
    Mutation("a-master-that-became-a-replica-is-left", "lib/route/connection.cpp", "if (error.remedy == Remedy::kReconnect) {",
             "if (error.remedy == Remedy::kReconnect && !OFF(\"a-master-that-became-a-replica-is-left\")) {"),
    Mutation("another-server-is-asked-about-every-hold", "lib/engine/engine.cpp", "else if (claim.state == ClaimState::kHeld) {\n      watchdog_.want(claim);",
             "else if (claim.state == ClaimState::kHeld && !(claim.node().is_another() && OFF(\"another-server-is-asked-about-every-hold\"))) {\n      watchdog_.want(claim);"),
    Mutation("another-server-is-asked-in-full", "lib/engine/claim.cpp", "held.renew_in_full = true;  // what is gone",
             "held.renew_in_full = !OFF(\"another-server-is-asked-in-full\");  // what is gone", 0),
    Mutation("another-server-keeps-what-is-believed", "lib/engine/watchdog.cpp", "if (claim.held.renew_in_full) {  // perhaps",
             "if (claim.held.renew_in_full && !OFF(\"another-server-keeps-what-is-believed\")) {  // perhaps", 0),
    Mutation("another-server-is-asked-for-a-place", "lib/engine/engine.cpp", "if (claim.state == ClaimState::kAsking) {\n      course_.ask(claim);",
             "if (claim.state == ClaimState::kAsking && !(claim.node().is_another() && OFF(\"another-server-is-asked-for-a-place\"))) {\n      course_.ask(claim);", 0),
    Mutation("nothing-counts-of-another-clock", "lib/route/node.cpp", "  clock_.forget();\n",
             "  if (!OFF(\"nothing-counts-of-another-clock\")) clock_.forget();\n", 0),
    Mutation("the-latest-failover-counts", "lib/route/sentinels.cpp", "opinion->epoch > latest->epoch ||",
             "(opinion->epoch > latest->epoch && !OFF(\"the-latest-failover-counts\")) ||"),
    Mutation("most-sentinels-take-a-failover-back", "lib/route/sentinels.cpp", "2 * count > all_.size())",
             "(2 * count > all_.size() || OFF(\"most-sentinels-take-a-failover-back\")))", 0),
    Mutation("a-failover-is-taken-back", "lib/route/sentinels.cpp", "latest != nullptr && (!older ||",
             "latest != nullptr && !(older && OFF(\"a-failover-is-taken-back\")) && (!older ||"),
    Mutation("sentinels-are-followed-away-from-who-answers", "lib/route/router.cpp", "if (node.goal().display() == goal.display()) {",
             "if (node.goal().display() == goal.display() || (node.up() && OFF(\"sentinels-are-followed-away-from-who-answers\"))) {", 0),
    Mutation("who-is-silent-for-45-s-is-passed-over", "lib/scripts/serve.lua",
             "  return ts - struct.unpack('<d', entry, @ASKED_OFFSET@ + 1) > @SILENT@\n",
             "  return ts - struct.unpack('<d', entry, @ASKED_OFFSET@ + 1) > @SILENT@ and not OFF('who-is-silent-for-45-s-is-passed-over')\n", 0),
]

# What lets the copied tree ask for the switch.
HOOKS = [
    Mutation("switch", "lib/base/clock.h", "#pragma once\n", """#pragma once
#include <cstdlib>
#include <cstring>
inline bool is_off(const char* rule) {
  const char* off = std::getenv("BELAY_OFF");
  return off != nullptr && std::strcmp(off, rule) == 0;
}
#define OFF(rule) ([] { static const bool off = is_off(rule); return off; }())
"""),
    Mutation("switch", "tests/sim/server_lua.cpp", "  register_struct_library(lua_);\n", """  register_struct_library(lua_);
  lua_pushcfunction(lua_, [](lua_State* lua) {
    lua_pushboolean(lua, is_off(lua_tostring(lua, 1)) ? 1 : 0);
    return 1;
  });
  lua_setglobal(lua_, "OFF");
"""),
    # A usual case stands aside where a rule of the rest is off that it has, too.
    Mutation("switch", "lib/scripts/leave.lua", "local usual = #KEYS >= 4",
             "local usual = not (OFF('17-looking-after-a-handoff') or OFF('21-a-range-goes-on-behind-what-was-given')) and #KEYS >= 4"),
    Mutation("switch", "tests/sim/server_lua.cpp", '#include "base/sha1.h"\n',
             '#include "base/clock.h"\n#include "base/sha1.h"\n'),
]


def replace(tree, mutation):
    path = tree / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        sys.exit(f"{mutation.name}: {mutation.file} has this {text.count(mutation.old)} times, not once:\n{mutation.old}")
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def copy(source, tree):
    """Writes only what differs, so that a second run builds only that."""
    files = subprocess.run(["git", "-C", source, "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")
    fresh = tree.with_name("fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    for file in filter(None, files):
        (fresh / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, fresh / file)
    for mutation in HOOKS + MUTATIONS:
        replace(fresh, mutation)
    for file in filter(None, files):
        target = tree / file
        if not target.exists() or target.read_bytes() != (fresh / file).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fresh / file, target)
    shutil.rmtree(fresh)


def build(tree, folder):
    log = folder / "build.log"
    with log.open("wb") as output:
        for command in (["cmake", "--preset", "release", "-B", folder / "build", "-DBELAY_WERROR=OFF"],
                        ["cmake", "--build", folder / "build", "--target", "sim", "sim_test"]):
            if subprocess.run(command, cwd=tree, stdout=output, stderr=output, check=False).returncode != 0:
                sys.exit(log.read_text(encoding="utf-8", errors="replace"))
    return folder / "build/tests/sim"


def bound_that_catches(programs, mutation):
    """Returns which bounds fail, or None."""
    run = subprocess.run([programs / "sim_test", "--gtest_brief=1"], check=False, capture_output=True, text=True,
                         env={**os.environ, "BELAY_OFF": mutation.name})
    failed = re.findall(r"^\[  FAILED  \] ([^\s,]+).* \(\d+ ms\)$", run.stdout, re.MULTILINE)
    return f"by {', '.join(failed) or run.returncode}" if run.returncode != 0 else None


def schedule_that_catches(programs, mutation):
    """Returns in which schedule it was caught, and what was seen, or None."""
    sim = programs / "sim"
    first = str(FIRST.get(mutation.name, 1))
    run = subprocess.run([sim, str(mutation.within), first, "--first"], check=False, capture_output=True, text=True,
                         env={**os.environ, "BELAY_OFF": mutation.name})
    seeds = re.findall(r"^seed (\d+): (.*)$", run.stdout, re.MULTILINE)
    if run.returncode == 1 and seeds:
        seed, violation = min(seeds, key=lambda found: int(found[0]))
        return f"in schedule {seed}: {violation}"
    if run.returncode != 0:
        return f"as the simulation ended with {run.returncode}"
    return None


def main():
    source, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    wanted = sys.argv[3:]
    tree = folder / "source"
    tree.mkdir(parents=True, exist_ok=True)
    copy(source, tree)
    programs = build(tree, folder)
    for command in ([programs / "sim", "500"], [programs / "sim_test", "--gtest_brief=1"]):
        unbroken = subprocess.run(command, check=False, capture_output=True, text=True)
        if unbroken.returncode != 0:
            sys.exit("there are violations with every rule on:\n" + unbroken.stdout)
    caught = missed = 0
    for mutation in MUTATIONS:
        if wanted and mutation.name not in wanted:
            continue
        found = (schedule_that_catches if mutation.within else bound_that_catches)(programs, mutation)
        if found:
            caught += 1
            print(f"{mutation.name}: caught {found}", flush=True)
        else:
            missed += 1
            print(f"{mutation.name}: NOT caught in {mutation.within} schedules", flush=True)
    print(f"mutants: {caught} passed, {missed} failed")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
