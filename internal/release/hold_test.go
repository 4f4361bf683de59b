// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestHoldOf: the annotations of a hold are read, and errors in them are named.
func TestHoldOf(t *testing.T) {
	t.Parallel()
	const to, until = helmv2.AnnotationRollbackTo, helmv2.AnnotationRollbackUntil
	end := testNow.Add(time.Hour)
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        Hold
	}{
		"None":      {map[string]string{until: end.Format(time.RFC3339)}, Hold{}},
		"Unlimited": {map[string]string{to: "3"}, Hold{Active: true, To: 3}},
		"Limited": {
			map[string]string{to: "3", until: end.Format(time.RFC3339)},
			Hold{Active: true, To: 3, Until: end, Note: "until 2026-01-01 13:00 UTC"},
		},
		"Over": {
			map[string]string{to: "3", until: testNow.Format(time.RFC3339)},
			Hold{Ended: "annotation pintle.dev/rollback-until is 2026-01-01T12:00:00Z, which is over"},
		},
		"Reason": {
			map[string]string{to: "3", helmv2.AnnotationRollbackReason: "the revert\n is\x1b[1m late "},
			Hold{Active: true, To: 3, Reason: "the revert is [1m late", Note: "the revert is [1m late"},
		},
		"LimitedWithReason": {
			map[string]string{to: "3", until: end.Format(time.RFC3339), helmv2.AnnotationRollbackReason: "incident 42"},
			Hold{Active: true, To: 3, Until: end, Reason: "incident 42", Note: "until 2026-01-01 13:00 UTC: incident 42"},
		},
		"NoTime": {
			map[string]string{to: "3", until: "soon"},
			Hold{Active: true, To: 3, Note: `without end: annotation pintle.dev/rollback-until is "soon", which is no RFC 3339 time`},
		},
		"NoNumber": {
			map[string]string{to: "v3"},
			Hold{Active: true, Invalid: `annotation pintle.dev/rollback-to is "v3", which is no number of a revision`},
		},
		"Negative": {
			map[string]string{to: "-3"},
			Hold{Active: true, Invalid: `annotation pintle.dev/rollback-to is "-3", which is no number of a revision`},
		},
		"Empty": {
			map[string]string{to: ""},
			Hold{Active: true, Invalid: `annotation pintle.dev/rollback-to is "", which is no number of a revision`},
		},
	} {
		if diff := cmp.Diff(tc.want, HoldOf(tc.annotations, testNow)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNotes: a text that a user writes takes one line of bounded length in messages.
func TestNotes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a\n\u00fc", 100_000)
	for name, text := range map[string]string{
		"Suspension":    SuspensionOf(false, map[string]string{helmv2.AnnotationSuspend: long}, testNow).Why,
		"SuspensionEnd": SuspensionOf(false, map[string]string{helmv2.AnnotationSuspend: "", helmv2.AnnotationSuspendUntil: long}, testNow).Why,
		"Hold":          HoldOf(map[string]string{helmv2.AnnotationRollbackTo: "1", helmv2.AnnotationRollbackReason: long}, testNow).Note,
		"HoldEnd":       HoldOf(map[string]string{helmv2.AnnotationRollbackTo: "1", helmv2.AnnotationRollbackUntil: long}, testNow).Note,
		"HoldRevision":  HoldOf(map[string]string{helmv2.AnnotationRollbackTo: long}, testNow).Invalid,
		"Rejection":     RejectionOf(v1alpha1.ReleasePlanSpec{RejectedBy: long, RejectionReason: long}),
	} {
		if len(text) < maxNote || len(text) > 3*maxNote || strings.ContainsRune(text, '\n') {
			t.Errorf("%s: %d bytes: %.80q", name, len(text), text)
		}
	}
}

// TestRejectionOf: a rejection names who and why, as far as they are known.
func TestRejectionOf(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]v1alpha1.ReleasePlanSpec{
		"":                    {},
		" by jane":            {RejectedBy: "jane"},
		": too risky":         {RejectionReason: "too risky"},
		" by jane: too risky": {RejectedBy: "jane", RejectionReason: "too\nrisky"},
	} {
		if got := RejectionOf(spec); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestWithHandled: a request is recorded beside others, and a value that cannot be read is replaced.
func TestWithHandled(t *testing.T) {
	t.Parallel()
	annotations := map[string]string{helmv2.AnnotationTestAt: "b", helmv2.AnnotationHandled: `{"other":"x","pintle.dev/test-at":"a"}`}
	if r := RequestsOf(annotations); r.Test != "b" || r.TestHandled != "a" || !r.testRequested() {
		t.Errorf("requests %+v", r)
	}
	annotations[helmv2.AnnotationHandled] = WithHandled(annotations, helmv2.AnnotationTestAt, "b")
	if got, want := annotations[helmv2.AnnotationHandled], `{"other":"x","pintle.dev/test-at":"b"}`; got != want {
		t.Errorf("handled %s, want %s", got, want)
	}
	if RequestsOf(annotations).testRequested() {
		t.Error("a handled token is requested again")
	}
	annotations[helmv2.AnnotationHandled] = "edited"
	if got, want := WithHandled(annotations, helmv2.AnnotationTestAt, "b"), `{"pintle.dev/test-at":"b"}`; got != want {
		t.Errorf("handled %s, want %s", got, want)
	}
}

// TestHoldTarget: only an unchanged revision of the release that was deployed is rolled back to.
func TestHoldTarget(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(in *Input, target *Revision)
		why    string
	}{
		"Recorded":   {"A superseded revision that matches its snapshot.", func(*Input, *Revision) {}, ""},
		"Unrecorded": {"Its record has a seal.", func(in *Input, _ *Revision) { in.Recorded.History = in.Recorded.History[:1] }, ""},
		"Unsealed":   {"Its snapshot proves it.", func(_ *Input, r *Revision) { r.Sealed = false }, ""},
		"Unproven": {
			"It has neither.", func(in *Input, r *Revision) { in.Recorded.History, r.Sealed = in.Recorded.History[:1], false }, "nothing proves",
		},
		"OfAnother": {
			"It was sealed for another HelmRelease.",
			func(in *Input, r *Revision) { in.Recorded.History, r.Owner = in.Recorded.History[:1], "other-uid" }, "nothing proves",
		},
		"OfAnotherLife": {
			"The release was uninstalled and installed since.",
			func(in *Input, r *Revision) { in.Recorded.History, r.FirstDeployed = in.Recorded.History[:1], testNow }, "nothing proves",
		},
		"SupersededSince": {
			"Another client has made the newest revision.",
			func(in *Input, r *Revision) {
				in.Recorded.History[1].Status, in.Recorded.History[1].Digest, r.DeployedDigest = helmv2.StatusDeployed, "x", "x"
			}, "",
		},
		"ChangedAndSuperseded": {
			"Someone has changed the record, and marked it superseded.",
			func(in *Input, r *Revision) {
				in.Recorded.History[1].Status, in.Recorded.History[1].Digest, r.DeployedDigest = helmv2.StatusDeployed, "x", "y"
			}, "another client changed it",
		},
		"Changed": {"Its digest differs.", func(_ *Input, r *Revision) { r.Digest = "x" }, "another client changed it"},
		"Altered": {
			"Its labels are those of another revision.",
			func(in *Input, r *Revision) { in.Recorded.History, r.Altered = in.Recorded.History[:1], true }, "another client changed it",
		},
		"Failed":      {"It was never deployed.", func(_ *Input, r *Revision) { r.Status = helmv2.StatusFailed }, "its status is 'failed'"},
		"Undeployed":  {"Helm has replaced the status of a failed revision.", func(_ *Input, r *Revision) { r.Undeployed = true }, "was never deployed"},
		"EndedEarly":  {"Its action was interrupted.", func(_ *Input, r *Revision) { r.Interrupted = true }, "was never deployed"},
		"Uninstalled": {"Its objects were deleted on purpose.", func(_ *Input, r *Revision) { r.Status = helmv2.StatusUninstalled }, "its status is 'uninstalled'"},
		"Elsewhere":   {"Helm would return to another namespace.", func(_ *Input, r *Revision) { r.Namespace = "other" }, "belongs to release other/web"},
		"Missing":     {"It is not stored.", func(in *Input, _ *Revision) { in.Observed.Revisions = in.Observed.Revisions[:1] }, "revision 1 is not stored"},
	} {
		in := inSyncInput()
		in.Desired.Hold = Hold{Active: true, To: 1}
		tc.change(&in, &in.Observed.Revisions[1])
		d := Decide(in)
		if tc.why == "" {
			if d.Action != Action(Rollback{Timeout: 8 * time.Minute, Version: 1, Hold: true}) {
				t.Errorf("%s: %s %+v", name, tc.reason, d)
			}
			continue
		}
		if d.Action != Action(Stall{Reason: helmv2.ReasonRollbackRefused}) || !strings.Contains(d.Why, tc.why) {
			t.Errorf("%s: %s %+v", name, tc.reason, d)
		}
	}
}

// TestHeldRevisionIsChecked: a revision that was made by a rollback, or is the requested one, is held
// only if it is unchanged. The rendering of the chart does not matter.
func TestHeldRevisionIsChecked(t *testing.T) {
	t.Parallel()
	in := inSyncInput()
	in.Desired.Hold = Hold{Active: true, To: 1}
	in.Observed.Revisions[0].RolledBackTo = 1
	in.Desired.Policy.Drift = helmv2.DriftDetectionEnabled
	in.Observed.Drift = &Drift{Rendering: "another CRD"}
	if d := Decide(in); d.State != StateRolledBack || !MustCompare(in) {
		t.Errorf("not held: %+v", d)
	}
	in.Observed.Revisions[0].Digest = "x"
	if d := Decide(in); Name(d.Action) != "rollback" {
		t.Errorf("held although changed: %+v", d)
	}
	in.Desired.Hold.To = 2
	if d := Decide(in); d.Action != Action(Stall{Reason: helmv2.ReasonRollbackRefused}) {
		t.Errorf("held although changed: %+v", d)
	}
}

// TestHoldOfAnotherOwner: a release that another HelmRelease owns is not held, even if the spec requests
// another chart.
func TestHoldOfAnotherOwner(t *testing.T) {
	t.Parallel()
	in := inSyncInput()
	in.Desired.Hold, in.Desired.Chart.Name = Hold{Active: true, To: 1}, "site"
	in.Observed.Revisions[0].Owner = "uid-2"
	in.Observed.Conflicts = []Conflict{{UID: "uid-2", Namespace: "apps", Name: "other"}}
	if d := Decide(in); d.Action != Action(Forget{}) {
		t.Errorf("decides %+v", d)
	}
}

// TestHoldReadsItsTarget: the revision that is to be rolled back to is read in full before the
// decision, and only then.
func TestHoldReadsItsTarget(t *testing.T) {
	t.Parallel()
	in := inSyncInput()
	in.Desired.Hold = Hold{Active: true, To: 1}
	if n := MustReadRevision(in); n != 0 {
		t.Errorf("revision %d is read again", n)
	}
	full := in.Observed.Revisions[1]
	in.Observed.Revisions[1] = Revision{Unread: true, Name: "web", Version: 1, Status: helmv2.StatusSuperseded}
	if n := MustReadRevision(in); n != 1 || Decide(in).Acts() {
		t.Errorf("revision %d is read, and the decision is %+v", n, Decide(in))
	}
	got := in.WithRevision(1, &full)
	if Name(Decide(got).Action) != "rollback" || !in.Observed.Revisions[1].Unread {
		t.Errorf("%+v", Decide(got))
	}
	if got = in.WithRevision(1, nil); Decide(got).Why != "revision 1 is not stored" {
		t.Errorf("deleted meanwhile: %+v", Decide(got))
	}
	in.Observed.Revisions[0].RolledBackTo = 1
	if n := MustReadRevision(in); n != 0 {
		t.Errorf("revision %d is read although the release is held", n)
	}
}

// TestInPlace: a release that is to be held keeps its target.
func TestInPlace(t *testing.T) {
	t.Parallel()
	in := inSyncInput()
	in.Desired.Target.Name = "renamed"
	if got := in.Desired.InPlace(in.Recorded); got.Target.Name != "renamed" || got.Hold.Moved {
		t.Errorf("without a hold: %+v", got.Target)
	}
	in.Desired.Hold = Hold{Active: true, To: 2}
	got := in.Desired.InPlace(in.Recorded)
	if got.Target != (Target{Name: "web", Namespace: "apps", StorageNamespace: "store"}) || !got.Hold.Moved {
		t.Errorf("held: %+v", got)
	}
	in.Desired = got
	if other := RequestsOther(in); other != "release target changed" {
		t.Errorf("the spec requests %q", other)
	}
}
