// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

const (
	opUID    = "op-1"
	otherUID = "op-2"
	target   = "web"
)

// world is an API server in memory, limited to the objects of one Operation. Lines of text drive
// it. TestScenarios reads them from testdata/*.txt, and random tests generate them:
//
//	operation [event] [deadline=30s] [ttl=60] [keep=3600] [engine=job]
//	timeout 1h | cancel | delete | advance 10m
//	plan steps=2 [revision=3] | missing "Secret a"|none | refused REASON|none
//	dryrun REASON|none | obstacle REASON|none | approver POLICY|none | approve DIGEST|none
//	target ok|unresolved|gone|deleting | action upgrade|none
//	pending WORDS|none | suspended
//	other locks|removed|finishes|unlocks | lock-removed
//	job starts|succeeds|fails [exit=3] [reason=R] [pods=live]
//	job removed|suspended|deleting|replaced | pods end [exit=143] | collected
//	logs unread|read | expired
//	elsewhere NAMESPACE | unread REASON|none | lost | undeleted MESSAGE|none
//	next [skip] [unguarded] | request TOKEN | answer DIGEST [action=Install] [failed] | applied | no-plan
//	reconcile [die=before|status|half] | run
type world struct {
	now     time.Time
	timeout time.Duration
	object  operation.Object
	spec    opsv1alpha1.OperationSpec
	status  opsv1alpha1.OperationStatus
	target  operation.Target
	// holder is the lock annotation of the HelmRelease. otherLiving is true while the other
	// Operation exists.
	holder      string
	otherLiving bool
	gone        bool
	plan        operation.Plan
	next        operation.NextPlan
	obstacle    *operation.Problem
	jobs        []operation.Job
	pods        []string
	// left is the result according to the Pods of a deleted Job.
	left       operation.Result
	unread     bool
	companions []string
	elsewhere  operation.Elsewhere
	// abandoned is true if the Operation has ended although objects may be left.
	abandoned bool
	serial    int
	// started maps the names of Jobs to the UIDs that were ever resumed.
	started     map[string][]string
	lockRemoved bool
	retry       release.Retry
	settled     bool
	out         []string
}

func newWorld() *world {
	now := time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)
	w := &world{
		now: now, timeout: time.Hour, started: map[string][]string{},
		object: operation.Object{UID: opUID, Namespace: "apps", Name: "migrate", Generation: 1, Created: now},
		spec: opsv1alpha1.OperationSpec{
			TargetRef: opsv1alpha1.TargetReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: target},
			Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob,
			Parameters: &opsv1alpha1.Parameters{HookName: "web-migrate"},
		},
		target: operation.Target{HelmRelease: target},
	}
	w.setPlan(1, 3)
	return w
}

func (w *world) setPlan(steps, revision int) {
	digest := fmt.Sprintf("sha256:%d", revision)
	w.plan = operation.Plan{
		Made:    true,
		Release: opsv1alpha1.ReleaseReference{Name: target, Namespace: "apps", Revision: revision, HookDigest: digest},
	}
	for i := range steps {
		w.plan.Steps = append(w.plan.Steps, operation.Step{Hook: "hook-" + strconv.Itoa(i+1), Job: "migrate-" + strconv.Itoa(i+1), Digest: digest})
	}
}

// play plays a scenario and returns it with its actual output.
func play(text string) (string, error) {
	w := newWorld()
	var played []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		input, _, _ := strings.Cut(block+"\n", "----\n")
		for line := range strings.SplitSeq(strings.TrimSpace(input), "\n") {
			if err := w.do(line); err != nil {
				return strings.Join(append(played, input+"----\n"+w.take()), "\n"), fmt.Errorf("%q: %w", line, err)
			}
		}
		if output := w.take(); output != "" {
			input += "----\n" + output
		}
		played = append(played, input)
	}
	return strings.Join(played, "\n"), nil
}

func (w *world) take() string {
	text := strings.Join(w.out, "")
	w.out = nil
	return text
}

func (w *world) line(format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf(format, args...)+"\n")
}

func (w *world) do(line string) error {
	if strings.HasPrefix(line, "#") || line == "" {
		return nil
	}
	verb, rest, _ := strings.Cut(line, " ")
	args := map[string]string{}
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(word, "=")
		args[key] = value
	}
	first, _, _ := strings.Cut(rest, " ")
	problem := func() *operation.Problem {
		if first == "none" {
			return nil
		}
		return &operation.Problem{Reason: first, Message: "message of " + first}
	}
	switch verb {
	case "operation":
		return w.setOperation(args)
	case "timeout", "advance":
		d, err := time.ParseDuration(first)
		if verb == "timeout" {
			w.timeout = d
		} else {
			w.now = w.now.Add(d)
		}
		return err
	case "cancel":
		w.spec.Cancel = true
		w.object.Generation++
	case "delete":
		if !w.object.Deleted {
			w.object.Deleted, w.object.DeletedAt = true, w.now
		}
	case "plan":
		steps, err := strconv.Atoi(args["steps"])
		revision, _ := strconv.Atoi(args["revision"])
		w.setPlan(steps, max(revision, 3))
		return err
	case "elsewhere":
		w.plan.Placement = &opsv1alpha1.Placement{
			Namespace: first, KubeConfig: &opsv1alpha1.ConnectionReference{Kind: "Secret", Name: "far"},
			Objects: []opsv1alpha1.PlacedObject{{Kind: "ServiceAccount", Name: "web"}},
		}
	case "unread":
		w.elsewhere.Unread = problem()
	case "lost":
		w.elsewhere.Lost = true
	case "undeleted":
		w.elsewhere.Undeleted = strings.TrimPrefix(rest, "none")
	case "missing":
		if w.plan.Missing = nil; first != "none" {
			w.plan.Missing = []string{rest}
		}
	case "refused":
		w.plan.Refused = problem()
		w.plan.Made = w.plan.Refused == nil
	case "dryrun":
		w.plan.DryRun = problem()
	case "approver":
		w.plan.Approver = strings.TrimPrefix(first, "none")
	case "approve":
		w.spec.Approved = strings.TrimPrefix(first, "none")
		w.object.Generation++
	case "next":
		w.setNext(args)
	case "request":
		w.next.Requested, w.next.Open = first, true
	case "answer":
		w.answer(first, args)
	case "applied":
		w.next.Applied = w.next.Digest != ""
	case "no-plan":
		w.next = operation.NextPlan{Requested: w.next.Requested, Open: w.next.Open, Unguarded: w.next.Unguarded}
	case "obstacle":
		w.obstacle = problem()
	case "target":
		w.setTarget(first)
	case "action":
		return w.act(first)
	case "pending":
		w.target.Pending = strings.TrimPrefix(rest, "none")
	case "suspended":
		w.target.Suspended = true
	case "other":
		return w.setOther(first)
	case "lock-removed":
		w.holder, w.lockRemoved = "", true
	case "job":
		return w.job(first, args)
	case "logs":
		w.unread = first == "unread"
	case "pods":
		if v, ok := args["exit"]; ok && len(w.pods) > 0 {
			exit, _ := strconv.Atoi(v)
			code := int32(exit)
			w.left = operation.Result{Pod: w.pods[0], ExitCode: &code, Logs: []opsv1alpha1.ContainerLog{{Container: "main", Text: "the last word"}}}
		}
		w.pods = nil
		for i := range w.jobs {
			w.jobs[i].Active = 0
		}
	case "collected":
		// Kubernetes removes the Jobs that are being deleted.
		w.jobs = slices.DeleteFunc(w.jobs, func(j operation.Job) bool { return j.Deleted })
	case "expired":
		w.jobs = slices.DeleteFunc(w.jobs, func(j operation.Job) bool { return j.Expires })
	case "reconcile":
		return w.reconcile(args["die"])
	case "run":
		return w.run()
	default:
		return fmt.Errorf("unknown verb %q", verb)
	}
	return nil
}

func (w *world) setOperation(args map[string]string) error {
	p := w.spec.Parameters
	if _, ok := args["event"]; ok {
		p.HookName, p.Event = "", "pre-upgrade"
	}
	if v, ok := args["deadline"]; ok {
		d, err := time.ParseDuration(v)
		s := int64(d / time.Second)
		if p.ActiveDeadlineSeconds = &s; err != nil {
			return err
		}
	}
	if v, ok := args["ttl"]; ok {
		n, err := strconv.Atoi(v)
		s := int32(n)
		if p.TTLSecondsAfterFinished = &s; err != nil {
			return err
		}
	}
	if v, ok := args["keep"]; ok {
		n, err := strconv.Atoi(v)
		s := int32(n)
		if w.spec.TTLSecondsAfterFinished = &s; err != nil {
			return err
		}
	}
	if v, ok := args["engine"]; ok {
		w.spec.Engine = opsv1alpha1.OperationEngine(v)
	}
	return nil
}

// setNext makes the Operation take its hook from the plan of the next upgrade.
func (w *world) setNext(args map[string]string) {
	p := w.spec.Parameters
	p.HookName, p.Event, p.From = "web-migrate", "", opsv1alpha1.FromNext
	if _, skips := args["skip"]; skips {
		p.SkipInUpgrade, p.SkipApprovedBy = true, "alice"
	}
	if _, is := args["unguarded"]; is {
		w.next.Unguarded = "there is no admission policy"
	}
}

// answer computes the requested plan as the HelmRelease controller would.
func (w *world) answer(digest string, args map[string]string) {
	n := operation.NextPlan{Requested: w.next.Requested, Answers: w.next.Requested, Digest: digest, Inputs: "inputs-of-" + digest, Action: "Upgrade", UID: "hr-1", Revision: 3, Unguarded: w.next.Unguarded}
	if v, ok := args["action"]; ok {
		n.Action = v1alpha1.PlanAction(v)
	}
	if _, failed := args["failed"]; failed {
		n.Digest, n.Failed = "", "the chart is broken"
	}
	w.next = n
}

func (w *world) setTarget(how string) {
	suspended := w.target.Suspended
	w.target = operation.Target{HelmRelease: target, Suspended: suspended, Deleted: how == "deleting", Action: w.target.Action}
	switch how {
	case "unresolved":
		w.target = operation.Target{Unresolved: &operation.Problem{Reason: opsv1alpha1.ReasonTargetNotFound, Message: "no HelmRelease belongs to the target"}}
	case "gone":
		w.target = operation.Target{Unresolved: &operation.Problem{Reason: opsv1alpha1.ReasonTargetNotFound, Message: "HelmRelease apps/web does not exist"}}
		w.holder = ""
	}
}

// act starts a Helm action as the HelmRelease controller would, which respects the lock.
func (w *world) act(event string) error {
	if event == "none" {
		w.target.Action = ""
		return nil
	}
	if w.holder == opUID || (w.holder == otherUID && w.otherLiving) || w.target.HelmRelease == "" {
		w.line("the release is locked: no %s", event)
		return nil
	}
	w.target.Action = event
	return nil
}

func (w *world) setOther(event string) error {
	switch event {
	case "locks":
		if w.holder != "" {
			w.line("the release is already locked")
			return nil
		}
		w.holder, w.otherLiving = otherUID, true
	case "removed", "finishes":
		w.otherLiving = false
	case "unlocks":
		if w.otherLiving = false; w.holder == otherUID {
			w.holder = ""
		}
	default:
		return fmt.Errorf("unknown event %q of the other Operation", event)
	}
	return nil
}

// job changes the last Job as Kubernetes or a user would. Kubernetes does not change a suspended
// Job.
func (w *world) job(event string, args map[string]string) error {
	if len(w.jobs) == 0 {
		w.line("there is no Job")
		return nil
	}
	j := &w.jobs[len(w.jobs)-1]
	pod := "pod-of-" + j.UID
	switch event {
	case "removed":
		w.jobs, w.pods = w.jobs[:len(w.jobs)-1], nil
		if args["pods"] == "live" {
			w.pods = []string{pod}
		}
		return nil
	case "deleting":
		j.Deleted = true
	case "replaced":
		w.serial++
		*j = operation.Job{Name: j.Name, UID: fmt.Sprintf("job-%d", w.serial), Ours: true}
	case "foreign":
		j.Ours = false
	case "suspended":
		j.Suspended, j.Started = true, time.Time{}
	case "starts", "succeeds", "fails", "waits":
		if j.Suspended || j.Finished() {
			w.line("Job %s does not run", j.Name)
			return nil
		}
		if j.Started.IsZero() {
			j.Started = w.now
		}
		w.pods, j.Active = []string{pod}, 1
		j.Result = operation.Result{Pod: pod, Reason: args["reason"]}
		if event == "starts" || event == "waits" {
			return nil
		}
		if args["pods"] != "live" {
			w.pods, j.Active = nil, 0
		}
		j.Complete, j.Failed, j.Ended = event == "succeeds", event == "fails", w.now
		exit, _ := strconv.Atoi(args["exit"])
		code := int32(exit)
		j.Result.ExitCode = &code
		j.Result.Logs = []opsv1alpha1.ContainerLog{{Container: "main", Text: "the last line"}}
		if args["pods"] == "gone" {
			j.Result = operation.Result{Reason: args["reason"]}
		}
	default:
		return fmt.Errorf("unknown event %q of a Job", event)
	}
	return nil
}

func (w *world) input() operation.Input {
	in := operation.Input{
		Object: w.object, Spec: w.spec, Recorded: w.status, Target: w.target, Jobs: slices.Clone(w.jobs), LivePods: w.pods,
		Companions: w.companions, Obstacle: w.obstacle, Timeout: w.timeout, CleanupTimeout: time.Hour, Now: w.now,
	}
	if w.status.Placement != nil {
		if in.Elsewhere = w.elsewhere; in.Elsewhere.Unread != nil {
			in.Jobs, in.LivePods, in.Companions = nil, nil, nil
		}
	}
	if w.holder == opUID {
		in.LockedReleases = []string{target}
	}
	for i := range in.Jobs {
		if in.Jobs[i].Finished() && w.unread {
			in.Jobs[i].Result.Logs, in.Jobs[i].Result.Unread = nil, true
		}
	}
	if len(in.Jobs) == 0 {
		in.PodResult = w.left
	}
	if w.holder == otherUID {
		in.Target.LockHolder = operation.LockHolder{UID: otherUID, Active: w.otherLiving}
		if w.otherLiving {
			in.Target.LockHolder.Name = "other"
		}
	}
	if operation.NeedsPlan(in) && in.Elsewhere.Unread == nil {
		if in.Spec.Parameters.IsNext() {
			in.Next = w.next
		}
		if in.Spec.Parameters.IsNext() && !operation.HasPlan(in) {
			return in
		}
		in.Plan = w.plan
		in.Plan.DryRun = nil
		if operation.NeedsDryRun(in) {
			in.Plan.DryRun = w.plan.DryRun
		}
	}
	return in
}

// run reconciles until no immediate requeue is due.
func (w *world) run() error {
	for range 50 {
		if err := w.reconcile(""); err != nil {
			return err
		}
		if !w.retry.IsNow() || w.gone {
			return nil
		}
	}
	return errors.New("the Operation does not stop requeueing")
}

// reconcile performs one reconciliation: status, then action.
func (w *world) reconcile(die string) error {
	if w.gone {
		w.line("gone")
		return nil
	}
	in := w.input()
	d := operation.Decide(in)
	r := status.Operation(d, in)
	w.line("rule=%s action=%s phase=%s%s", d.Rule, describe(d.Action), d.Phase, quoted(d))
	if die == "before" {
		w.line("died")
		return nil
	}
	if w.status.Phase.Final() && !cmp.Equal(withoutBlocked(w.status), withoutBlocked(r.Status)) {
		return fmt.Errorf("a final status changed: %s", cmp.Diff(w.status, r.Status))
	}
	w.print(r)
	if _, waits := d.Action.(operation.Wait); d.Rule == operation.RuleUnreachable && !waits {
		w.abandoned = true
	}
	w.status, w.retry = r.Status, r.Retry
	_, w.settled = d.Action.(operation.Settle)
	if wait, ok := d.Action.(operation.Wait); ok && w.spec.TTLSecondsAfterFinished != nil && !w.object.Finalizer && d.Phase.Final() {
		w.settled = wait.After > 0
	}
	if die == "status" {
		w.line("died")
		return nil
	}
	if err := w.perform(d.Action, die == "half"); err != nil {
		return err
	}
	return w.check()
}

// withoutBlocked returns a status without the condition that may change in a final phase, if the Jobs
// are elsewhere.
func withoutBlocked(s opsv1alpha1.OperationStatus) opsv1alpha1.OperationStatus {
	if s.Placement != nil {
		s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool { return c.Type == opsv1alpha1.ConditionBlocked })
	}
	return s
}

func quoted(d operation.Decision) string {
	if d.Reason == "" {
		return ""
	}
	return fmt.Sprintf(" %s %q", d.Reason, d.Why)
}

func describe(a operation.Action) string {
	switch a := a.(type) {
	case operation.Wait:
		return "wait/" + a.After.String()
	case operation.Stop:
		return "stop" + fmt.Sprint(a.Jobs)
	case operation.Expire:
		return fmt.Sprintf("expire%v/%d", a.Jobs, a.Seconds)
	}
	return operation.Name(a)
}

// print prints the changes of the status.
func (w *world) print(r status.OperationReport) {
	for _, c := range r.Status.Conditions {
		i := slices.IndexFunc(w.status.Conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
		if i < 0 || w.status.Conditions[i].Status != c.Status || w.status.Conditions[i].Reason != c.Reason || w.status.Conditions[i].Message != c.Message {
			w.line("  %s=%s/%s %q", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, o := range w.status.Conditions {
		if !slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool { return o.Type == c.Type }) {
			w.line("  %s is gone", o.Type)
		}
	}
	if o := r.Status.Outputs; o != nil && !cmp.Equal(o, w.status.Outputs) {
		line := "  job=" + o.JobName
		if o.LogsRef != nil {
			line += " pod=" + o.LogsRef.Name
		}
		if o.ExitCode != nil {
			line += fmt.Sprintf(" exit=%d", *o.ExitCode)
		}
		if o.Reason != "" {
			line += " reason=" + o.Reason
		}
		for _, j := range o.Jobs {
			line += fmt.Sprintf(" [%s %s %s]", j.Name, j.UID, j.Phase)
		}
		w.line("%s", line)
	}
	if to := r.Status.Placement; to != nil && w.status.Placement == nil {
		w.line("  placement=%s", to.Namespace)
	}
	if n := r.Status.Next; n != nil && !cmp.Equal(n, w.status.Next) {
		w.line("  next=%+v", *n)
	}
	for _, e := range r.Events {
		w.line("  event=%s/%s", e.Type, e.Reason)
	}
}

func (w *world) perform(a operation.Action, half bool) error {
	switch a := a.(type) {
	case operation.SetFinalizer:
		w.object.Finalizer = true
	case operation.AcquireLock:
		if w.target.HelmRelease == "" || w.target.Action != "" || w.holder == opUID || (w.holder == otherUID && w.otherLiving) {
			return errors.New("the lock must not be acquired")
		}
		w.holder, w.lockRemoved = opUID, false
	case operation.RequestPlan:
		if w.status.Next == nil || w.status.Next.Request != a.Token {
			return errors.New("a plan is requested before the request is recorded")
		}
		if w.next.Requested != a.Token {
			w.next.Requested, w.next.Open = a.Token, true
		}
	case operation.ReleaseLock:
		w.holder = ""
	case operation.Create:
		if w.plan.Placement != nil && w.status.Placement == nil {
			return errors.New("objects are created elsewhere before the placement is recorded")
		}
		w.companions = []string{"ServiceAccount web"}
		if half {
			w.line("died")
			return nil
		}
		if n := w.status.Next; w.spec.Parameters.IsNext() && (n == nil || n.Plan == "" || n.Plan != w.next.Digest) {
			return errors.New("a Job is created from another plan than the recorded one")
		}
		w.serial++
		s := w.plan.Steps[a.Step]
		w.jobs = append(w.jobs, operation.Job{Name: s.Job, UID: fmt.Sprintf("job-%d", w.serial), Ours: true, Suspended: true, Digest: s.Digest, Deadline: 30 * time.Minute})
	case operation.Resume:
		i := slices.IndexFunc(w.jobs, func(j operation.Job) bool { return j.UID == a.UID })
		if !slices.ContainsFunc(w.status.Outputs.Jobs, func(j opsv1alpha1.JobResult) bool { return j.UID == a.UID }) {
			return errors.New("a Job is resumed before it is recorded")
		}
		w.jobs[i].Suspended = false
		if seen := w.started[a.Job]; !slices.Contains(seen, a.UID) {
			w.started[a.Job] = append(seen, a.UID)
		}
	case operation.Stop:
		for _, name := range a.Jobs {
			w.jobs = slices.DeleteFunc(w.jobs, func(j operation.Job) bool { return j.Name == name && j.Ours })
		}
	case operation.RemoveCompanions:
		w.companions = nil
	case operation.Expire:
		for i := range w.jobs {
			w.jobs[i].Expires = w.jobs[i].Expires || slices.Contains(a.Jobs, w.jobs[i].Name)
		}
	case operation.RemoveFinalizer, operation.Abandon:
		w.object.Finalizer = false
		w.gone = w.object.Deleted
	case operation.Delete:
		if !w.status.Phase.Final() || w.holder == opUID || len(w.companions) > 0 || w.object.Finalizer && w.status.Placement == nil {
			return errors.New("the Operation is deleted before it has ended and cleaned up")
		}
		// With a finalizer, its Jobs elsewhere are deleted first.
		w.object.Deleted, w.object.DeletedAt, w.gone = true, w.now, !w.object.Finalizer
	case operation.Adopt, operation.Record, operation.Finish, operation.Wait, operation.Settle:
	}
	return nil
}

// check returns an error if an invariant is violated.
func (w *world) check() error {
	for _, name := range slices.Sorted(maps.Keys(w.started)) {
		if uids := w.started[name]; len(uids) > 1 {
			return fmt.Errorf("Job %s was run %d times", name, len(uids))
		}
	}
	runs := slices.ContainsFunc(w.jobs, func(j operation.Job) bool { return j.Ours && !j.Suspended && !j.Finished() })
	if runs && !w.abandoned && w.target.HelmRelease != "" && w.holder != opUID && !w.lockRemoved {
		return errors.New("a Job runs without a lock")
	}
	if (w.gone || w.settled) && w.holder == opUID {
		return errors.New("the Operation has ended and holds the lock")
	}
	if w.gone && w.status.Placement != nil && len(w.jobs) > 0 && !w.abandoned && slices.ContainsFunc(w.jobs, func(j operation.Job) bool { return j.Ours && !j.Deleted }) {
		return errors.New("the Operation is gone and left a Job elsewhere")
	}
	if (w.gone || w.settled) && !w.abandoned && (len(w.pods) > 0 || len(w.companions) > 0) {
		return errors.New("the Operation has ended without cleanup")
	}
	return nil
}
