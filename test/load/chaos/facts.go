// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// record is a stored revision. A record that was deleted and stored again counts as two.
type record struct {
	number  int
	message string
	// status is the last observed one, and deleted is true if the record is gone.
	status  string
	deleted bool
	// install reports whether an install made the revision, and not an upgrade or a rollback.
	install bool
	// begun is when the record was first observed, deployed when it was deployed, and closed when
	// it had failed. They are zero if that was not observed.
	begun, deployed, closed time.Time
	// unexplained is set for a failed revision of this controller that is marked neither as
	// interrupted nor as outdated.
	unexplained bool
}

// job is the Job of a hook.
type job struct {
	hook

	// created and ended are when its creation and its end were observed. A Job ends by its
	// completion, its failure or its deletion; ended is zero while it runs.
	created, ended time.Time
	// succeeded is set if it was complete, and unknown if its end was not observed: the API server
	// had ended, and the Job was deleted before the watch resumed.
	succeeded, unknown bool
}

// hook is one run of a hook: its Job was created.
type hook struct {
	// event is that of the hook, or operationHook.
	event string
	// message is the value of the commit that the hook was rendered with.
	message string
}

// operationHook is the event of a Job that an Operation created.
const operationHook = "operation"

func (h hook) String() string { return h.event + "@" + h.message }

// facts are the observations about one release, read from the API server without the proxy.
type facts struct {
	// exists reports whether the HelmRelease exists. quiet is true if its current generation was
	// reconciled and no reconciliation is in progress.
	exists, quiet bool
	// ready and reason are those of the condition Ready.
	ready  bool
	reason string
	text   string
	// revision is the newest in the status.
	revision int
	// failures is the highest failure counter that was ever in the status.
	failures int64
	// warnings are reasons of events of type Warning.
	warnings []string
	records  []record
	hooks    []hook
	// jobs are the same runs of hooks as hooks.
	jobs []job
	// rollouts are the times from a change of the Deployment until its controller had observed it.
	rollouts []window
	// markers are the messages of the existing objects that are named after a message.
	markers []string
	// message is that of the live object, empty if it does not exist. changes is the number of its
	// changes after its creation.
	message string
	changes int
	// operation is the phase of the Operation, and released reports whether it has let go of the
	// release.
	operation string
	released  bool
}

// newest returns the record with the highest number that is stored.
func (f *facts) newest() (record, bool) {
	var newest record
	for _, r := range f.records {
		if !r.deleted && r.number > newest.number {
			newest = r
		}
	}
	return newest, newest.number > 0
}

// want are the expected facts of a settled release.
type want struct {
	// gone is set for an uninstalled release. Then only records and hooks are compared.
	gone bool
	// reason is that of Ready=False; empty means Ready=True.
	reason string
	// message is that of the newest revision and of the live object.
	message string
	// messages are those of all revisions, in their order.
	messages []string
	// hooks are all runs of hooks.
	hooks []hook
	// failures is the expected number of counted failures, and warnings are the reasons of expected
	// warnings.
	failures int64
	warnings []string
	// changes is the minimum number of changes of the live object.
	changes int
	// operation is set if there is an Operation, which must succeed.
	operation bool
}

// settled reports whether a release has reached the expected state. It ignores repetitions.
func (w want) settled(f *facts) bool {
	newest, stored := f.newest()
	if w.gone {
		return !f.exists && !stored && f.message == ""
	}
	if w.operation && (f.operation != "Succeeded" || !f.released) {
		return false
	}
	return f.exists && f.quiet && f.ready == (w.reason == "") && (w.reason == "" || f.reason == w.reason) &&
		stored && newest.message == w.message && newest.status == "deployed" && f.revision == newest.number &&
		f.message == w.message && f.changes >= w.changes
}

// deviation is the difference from the expected facts.
type deviation struct {
	// failed is set if the release did not settle in time, or counted a failure.
	failed bool
	// extra and missing count revisions, repeated and skipped runs of hooks.
	extra, missing, repeated, skipped int
	// left counts objects that only revisions before the last one rendered.
	left  int
	wrong []string
}

func (v *deviation) say(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// compare compares the facts with the expected ones, except that the release has settled.
func (w want) compare(f *facts) deviation {
	var v deviation
	var messages []string
	for _, r := range f.records {
		messages = append(messages, r.message)
	}
	v.extra, v.missing = difference(messages, w.messages)
	if v.extra+v.missing > 0 {
		v.say("revisions are of %s, not of %s", list(messages), list(w.messages))
	}
	v.repeated, v.skipped = difference(f.hooks, w.hooks)
	if v.repeated+v.skipped > 0 {
		v.say("hooks are %s, not %s", list(f.hooks), list(w.hooks))
	}
	v.counted(f, w.failures, w.warnings)
	return v
}

// counted adds the failures that were counted or posted.
func (v *deviation) counted(f *facts, failures int64, warnings []string) {
	if f.failures != failures {
		v.failed = true
		v.say("%d failures were counted, not %d", f.failures, failures)
	}
	if wrong := slices.DeleteFunc(slices.Clone(f.warnings), func(reason string) bool {
		return !strings.HasSuffix(reason, "Failed") || slices.Contains(warnings, reason)
	}); len(wrong) > 0 {
		v.failed = true
		v.say("warnings were posted: %s", list(wrong))
	}
	for _, r := range f.records {
		if !r.deleted && strings.HasPrefix(r.status, "pending-") {
			v.failed = true
			v.say("revision %d is %s", r.number, r.status)
		}
	}
}

// difference returns the number of elements that are additional, and that are missing.
func difference[T comparable](have, want []T) (more, missing int) {
	count := map[T]int{}
	for _, t := range have {
		count[t]++
	}
	for _, t := range want {
		count[t]--
	}
	for _, n := range count {
		more += max(0, n)
		missing += max(0, -n)
	}
	return more, missing
}

func list[T any](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	texts := make([]string, 0, len(all))
	for _, t := range all {
		texts = append(texts, fmt.Sprint(t))
	}
	return strings.Join(texts, ", ")
}

// commit is a change of a release's inputs.
type commit struct {
	message string
	// at is when its request was sent.
	at time.Time
	// settled is set if the release reached the commit's state before the next commit. Otherwise
	// the commit may have no revision.
	settled bool
}

// compareCommits compares the facts with a sequence of commits. The release must have reached the
// last one. There is one revision for each settled commit, at most one for any other, and each of
// two hooks ran once per revision.
func compareCommits(f *facts, commits []commit) deviation {
	var v deviation
	revisions, hooks := map[string]int{}, map[hook]int{}
	for _, r := range f.records {
		revisions[r.message]++
	}
	for _, h := range f.hooks {
		phase, _, _ := strings.Cut(h.event, "-")
		hooks[hook{phase, h.message}]++
	}
	for i, c := range commits {
		required := c.settled || i == len(commits)-1
		extra, missing := v.once(revisions[c.message], required, "revisions of "+c.message)
		v.extra, v.missing = v.extra+extra, v.missing+missing
		for _, phase := range []string{"pre", "post"} {
			repeated, skipped := v.once(hooks[hook{phase, c.message}], required, "runs of hook "+phase+" of "+c.message)
			v.repeated, v.skipped = v.repeated+repeated, v.skipped+skipped
		}
	}
	v.counted(f, 0, nil)
	return v
}

// once returns by how much a number exceeds one, or is less than one if one is required, and adds a
// text about it.
func (v *deviation) once(n int, required bool, what string) (more, less int) {
	more = max(0, n-1)
	if required && n == 0 {
		less = 1
	}
	if more+less > 0 {
		v.say("there are %d %s", n, what)
	}
	return more, less
}
