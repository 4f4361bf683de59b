// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// dashes separate input from output.
const dashes = "----\n"

// Play plays a scenario and returns it with its actual output. It ignores the existing output below
// the dashes of each block.
func Play(text string) (string, error) {
	w := New()
	var played []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		input, _, _ := strings.Cut(block+"\n", dashes)
		for line := range strings.SplitSeq(strings.TrimSpace(input), "\n") {
			if err := w.Do(line); err != nil {
				return strings.Join(append(played, input+dashes+w.Output()), "\n"), fmt.Errorf("%q: %w", line, err)
			}
		}
		if output := w.Output(); output != "" {
			input += dashes + output
		}
		played = append(played, input)
	}
	return strings.Join(played, "\n"), nil
}

// Output returns the output since the previous call.
func (w *World) Output() string { return w.out.take() }

// Paused reports whether the last reconciliation left no immediate work: the release is in sync,
// stalled, waiting or finalized.
func (w *World) Paused() bool { return w.paused }

// Retry returns the requeue of the last reconciliation.
func (w *World) Retry() release.Retry { return w.retry }

// Do performs one line. It returns an error if the line is invalid or an invariant is violated.
func (w *World) Do(line string) error {
	words, err := split(line)
	if err != nil || len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return err
	}
	verb, args := words[0], arguments(words[1:])
	switch verb {
	case "spec":
		return script{w}.setSpec(args)
	case "suspend", "resume", "delete", "request", "annotate", "advance", "blocked", "unblocked", "objects", "conflict", "applied", "live",
		"operation", "input-changed", "dependent", "target", "access", "policy":
		return script{w}.change(verb, args)
	case "approval", "approval-class", "changes", "danger", "protect", "approve", "reject", "override":
		return setPlan(w, verb, args)
	case "stored":
		return script{w}.put(args)
	case "cli":
		return script{w}.cli(args)
	case "forge":
		return script{w}.forge(args)
	case "reconcile":
		helm, err := args.helm()
		if err != nil {
			return err
		}
		return w.reconcile(helm, args.value("die", ""))
	case "end", "die", "cancel", "shutdown", "reaches", "other":
		return script{w}.interrupt(verb, args)
	}
	return fmt.Errorf("unknown verb %q", verb)
}

// script performs lines that change the world outside of reconciliations.
type script struct{ *World }

// setSpec changes the spec. Fields that are not given stay.
func (w script) setSpec(args arguments) error {
	w.hr.Generation++
	if w.hr.Status.ObservedGeneration == -1 && len(w.hr.Status.Conditions) == 0 {
		w.hr.Generation = 1
	}
	chart := args.value("chart", w.want.Chart.Name+"@"+w.want.Chart.Version)
	w.want.Chart.Name, w.want.Chart.Version, _ = strings.Cut(chart, "@")
	if v, ok := args.lookup("values"); ok {
		w.want.ConfigDigest = digestOf(v)
	}
	w.want.Chart.Digest = args.value("chart-digest", w.want.Chart.Digest)
	if v, ok := args.lookup("timeout"); ok {
		d, err := time.ParseDuration(v)
		if err != nil {
			return err
		}
		w.want.Policy.Install.Timeout, w.want.Policy.Upgrade.Timeout, w.want.Policy.UninstallTimeout = d, d, d
	}
	for key, field := range map[string]*int{"max-history": &w.options.maxHistory, "retries": &w.want.Policy.Upgrade.Retries} {
		n, err := args.number(key, *field)
		if err != nil {
			return err
		}
		*field = n
	}
	w.want.Policy.Install.Retries = w.want.Policy.Upgrade.Retries
	w.options.replace = w.options.replace || args.has("replace")
	w.options.keepHistory = w.options.keepHistory || args.has("keep-history")
	w.options.tests = w.options.tests || args.has("chart-tests")
	w.options.postHooks = w.options.postHooks || args.has("post-hooks")
	w.options.hooks = w.options.hooks || args.has("hooks")
	w.options.random = w.options.random || args.has("random")
	w.setPolicy(args)
	w.setTarget(args)
	return nil
}

// setPolicy reads the policy for failures, which is the same for install and upgrade where
// possible.
func (w script) setPolicy(args arguments) {
	p := &w.want.Policy
	for word, field := range map[string]*bool{
		"tests": &p.Tests, "ignore-tests": &p.IgnoreTestFailures, "remediate-last": &p.Upgrade.RemediateLast,
		"retry": &p.Upgrade.Retry, "uninstall": &p.Upgrade.Uninstall, "reinstall": &p.Reinstall,
	} {
		*field = (*field || args.has(word)) && !args.has("no-"+word)
	}
	if p.Upgrade.Retries > 0 {
		p.Upgrade.RemediateLast = !args.has("no-remediate-last")
	}
	p.Install.RemediateLast, p.Install.Retry = args.has("remediate-last"), p.Upgrade.Retry
	p.Install.RetryInterval, p.Upgrade.RetryInterval = 5*time.Minute, 5*time.Minute
	p.Install.IgnoreTests, p.Upgrade.IgnoreTests = p.IgnoreTestFailures, p.IgnoreTestFailures
	if v, ok := args.lookup("drift"); ok {
		p.Drift, p.DriftTimeout = helmv2.DriftDetectionMode(v), 5*time.Minute
	}
	if v, ok := args.lookup("post-renderers"); ok {
		w.want.Rendering.PostRenderers = digestOf(v)
	}
}

// setTarget reads the target of the release, and the revision of its source.
func (w script) setTarget(args arguments) {
	t := &w.want.Target
	for key, field := range map[string]*string{
		"release": &t.Name, "namespace": &t.Namespace, "storage": &t.StorageNamespace, "source": &w.want.SourceRevision,
	} {
		*field = args.value(key, *field)
	}
}

// change performs lines about users, time and other controllers.
func (w script) change(verb string, args arguments) error {
	switch verb {
	case "suspend", "resume":
		if w.hr.Spec.Suspend != (verb == "suspend") {
			w.hr.Generation++
		}
		w.hr.Spec.Suspend = verb == "suspend"
	case "delete":
		if w.hr.DeletionTimestamp.IsZero() {
			w.hr.Generation++
			w.hr.DeletionTimestamp = &metav1.Time{Time: w.now}
		}
	case "request":
		w.request(args)
	case "annotate":
		w.annotate(args)
	case "objects":
		w.notReady = args.at(0) != "ready"
	case "applied":
		if w.running != nil && w.running.made != nil {
			w.running.made.Applied = true
			w.running.wrote()
		}
	case "conflict":
		return w.conflict(args)
	case "operation":
		return w.operation(args)
	case "target":
		return w.setObstacle(args)
	case "dependent":
		w.dependent(args)
	case "access":
		w.setAccess(args)
	case "policy":
		demands, err := demand(w.demands, args)
		w.demands = demands
		return err
	case "input-changed":
		w.inputChanges(args)
	case "live":
		w.live = live(args)
	case "advance":
		d, err := time.ParseDuration(args.at(0))
		w.now = w.now.Add(d)
		return err
	case "blocked":
		b := &release.Blocked{Reason: args.at(0), Message: args.at(1), Retry: release.Backoff(), Quiet: args.has("quiet")}
		if b.Terminal = args.has("terminal"); b.Terminal {
			b.Retry = release.Never()
		}
		w.blocked = b
	case "unblocked":
		w.blocked = nil
	}
	return nil
}

// request sets the request annotations. Annotations of earlier requests stay.
func (w script) request(args arguments) {
	if w.hr.Annotations == nil {
		w.hr.Annotations = map[string]string{}
	}
	w.hr.Annotations[helmv2.AnnotationReconcileRequest] = args.at(0)
	for word, annotation := range map[string]string{
		"force": helmv2.AnnotationForceRequest, "reset": helmv2.AnnotationResetRequest,
	} {
		if args.has(word) {
			w.hr.Annotations[annotation] = args.at(0)
		}
		if token, ok := args.lookup(word); ok {
			w.hr.Annotations[annotation] = token
		}
	}
}

// annotate sets annotations, given without their prefix, and removes those without a value.
func (w script) annotate(args arguments) {
	if w.hr.Annotations == nil {
		w.hr.Annotations = map[string]string{}
	}
	for i := range args {
		key, value, set := strings.Cut(args[i], "=")
		if delete(w.hr.Annotations, "pintle.dev/"+key); set {
			w.hr.Annotations["pintle.dev/"+key] = strings.Trim(value, `"`)
		}
	}
}

// inputChanges records a change of one of the inputs that are applied together.
func (w script) inputChanges(args arguments) {
	if w.debounce == nil || w.debounce.Over(w.now) {
		w.debounce = &release.Debounce{First: w.now}
	}
	w.debounce.Last, w.debounce.Applying = w.now, args.has("applying")
}

// operation lets an Operation lock the release, wait for the lock, or end. The lock is not
// available while an action is announced or a revision is pending.
func (w script) operation(args arguments) error {
	w.lockHolder, w.waiting = nil, nil
	switch args.at(0) {
	case "locks":
		if newest := w.current().newest(); status.Announced(w.hr.Status) != "" || newest != nil && newest.Pending() {
			return nil
		}
		w.lockHolder = &release.Operation{Name: "migrate"}
	case "waits":
		w.waiting = &release.Operation{Name: "migrate"}
	case "ends":
	default:
		return fmt.Errorf("unknown event %q of an Operation", args.at(0))
	}
	return nil
}

// put stores a revision without an action.
func (w script) put(args arguments) error {
	version, err := strconv.Atoi(args.at(0))
	if err != nil {
		return err
	}
	age, err := time.ParseDuration(args.value("age", "0s"))
	if err != nil {
		return err
	}
	chart, chartVersion, _ := strings.Cut(args.at(1), "@")
	at := w.now.Add(-age)
	r := &release.Revision{
		Name: name, Namespace: namespace, Version: version, Status: helmv2.ReleaseStatus(args.at(2)),
		ChartName: chart, ChartVersion: chartVersion, ConfigDigest: digestOf(args.value("values", "")),
		FirstDeployed: at, LastDeployed: at, Modified: at,
	}
	switch args.value("by", "other") {
	case "me":
		r.Owner = uid
	case "other-helmrelease":
		r.Owner = conflictUID
	}
	w.current().revisions = append(w.current().revisions, r)
	if r.Owner != "" && !args.has("unsealed") {
		w.current().seal(r)
	}
	if scheme, ok := args.lookup("scheme"); ok {
		r.HelmControllerDigest = helmControllerDigest(r)
		w.hr.Status.History = append(helmv2.Snapshots{{
			APIVersion: scheme, Digest: r.HelmControllerDigest, Name: name, Namespace: namespace, Version: version,
			Status: r.Status, ChartName: chart, ChartVersion: chartVersion, ConfigDigest: r.ConfigDigest,
			FirstDeployed: metav1.NewTime(at), LastDeployed: metav1.NewTime(at),
		}}, w.hr.Status.History...)
		w.hr.Status.StorageNamespace = namespace
	}
	w.out.stored(w.current().observed())
	return nil
}

// cli changes the release with the Helm command line.
func (w script) cli(args arguments) error {
	want := w.want
	chart := args.value("chart", want.Chart.Name+"@"+want.Chart.Version)
	want.Chart.Name, want.Chart.Version, _ = strings.Cut(chart, "@")
	want.ConfigDigest = digestOf(args.value("values", ""))
	w.usedCLI = true
	current := w.current()
	store := *current
	store.keepHistory, store.replace = args.has("keep-history"), true
	var kind release.HelmAction
	switch args.at(0) {
	case "install":
		kind, w.installedByCLI = release.Install{}, true
	case "upgrade":
		kind = release.Upgrade{}
	case "uninstall":
		kind = release.Uninstall{}
	case "tamper":
		version, err := strconv.Atoi(args.at(1))
		if r := store.version(version); err == nil && r != nil {
			r.Description = "edited by a user"
		}
		w.out.stored(w.current().observed())
		return err
	case "status":
		if last := store.newest(); last != nil {
			last.Status = helmv2.ReleaseStatus(args.at(1))
		}
		w.out.stored(w.current().observed())
		return nil
	default:
		return fmt.Errorf("unknown command %q of the Helm CLI", args.at(0))
	}
	by := ""
	if args.value("by", "") == "other-helmrelease" {
		by = conflictUID
	}
	a := store.begin(kind, want, by, w.now, nil)
	o := a.end(ending{}, w.now)
	current.revisions = store.revisions
	w.out.stored(w.current().observed())
	return o.Err
}

// interrupt ends the running action: regularly, by a crash, or by cancellation. It also lets the
// action reach a stage, and another process resume it.
func (w script) interrupt(verb string, args arguments) error {
	switch {
	case verb == "die":
		w.die()
	case verb == "other":
		return w.other(args.at(0))
	case w.running == nil:
		return errors.New("no action runs")
	case verb == "end":
		helm, err := args.helm()
		if err != nil {
			return err
		}
		w.finish(helm.ending(w.now))
	case verb == "reaches":
		return w.reached(args.at(0))
	case verb == "cancel":
		w.cancel(false)
	case verb == "shutdown":
		return w.shutdown(args.has("recorded"))
	}
	return nil
}
