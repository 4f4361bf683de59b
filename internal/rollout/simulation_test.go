// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// fleet simulates the API server, a cache that lags behind it, and a controller that may be killed. Its
// actions write the fields of status that the real ones write.
type fleet struct {
	t    *testing.T
	rand *rand.Rand
	now  time.Time
	todo agenda
	rv   int
	rule policy.Rollout

	names []string
	// server and cache have the HelmReleases. deps are their dependencies.
	server, cache map[string]*helmv2.HelmRelease
	deps          map[string][]string
	// outside are releases that the policy does not select.
	outside map[string]bool
	wants   map[string]string
	// byValues is true if versions are versions of shared values, not of charts.
	// template is true if the releases have sources of their own that fetch the same chart.
	byValues, template bool
	// bad reports whether a release crashes while it is watched.
	bad func(name, version string) bool

	// process is the number of the process. The rest is its memory.
	process  int
	queue    Queue
	replaced map[string]string
	running  map[string]bool
	ended    map[string]func(*helmv2.HelmRelease)
	queued   map[string]bool
	// busy are the releases whose reconciliation has not ended.
	busy map[string]bool

	// most is the largest number of releases in flight, and late counts releases that have begun after
	// the halt.
	most, late int
	halted     bool
}

type event struct {
	at  time.Time
	seq int
	do  func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at.Before(a[j].at) || a[i].at.Equal(a[j].at) && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func newFleet(t *testing.T, seed uint64, rule v1alpha1.Rollout) *fleet {
	t.Helper()
	f := &fleet{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC),
		rule:   policy.Rollout{Policy: "ClusterReleasePolicy/fleet", Rollout: rule},
		server: map[string]*helmv2.HelmRelease{}, cache: map[string]*helmv2.HelmRelease{}, deps: map[string][]string{},
		outside: map[string]bool{}, wants: map[string]string{}, bad: func(string, string) bool { return false },
	}
	f.start()
	return f
}

func (f *fleet) start() {
	f.process++
	f.queue, f.replaced, f.running = Queue{}, map[string]string{}, map[string]bool{}
	f.ended, f.queued = map[string]func(*helmv2.HelmRelease){}, map[string]bool{}
	f.busy = map[string]bool{}
	for _, name := range f.names {
		f.cache[name] = f.server[name]
		f.enqueue(name)
	}
}

// kill ends the process. Another one starts with a cache that is in sync.
func (f *fleet) kill() { f.start() }

func (f *fleet) after(d time.Duration, do func()) {
	f.rv++
	heap.Push(&f.todo, event{f.now.Add(d), f.rv, do})
}

// here runs do later, unless the process has ended.
func (f *fleet) here(d time.Duration, do func()) {
	process := f.process
	f.after(d, func() {
		if f.process == process {
			do()
		}
	})
}

func (f *fleet) jitter(limit time.Duration) time.Duration {
	return time.Duration(f.rand.Int64N(int64(limit)))
}

func (f *fleet) enqueue(name string) {
	if f.queued[name] {
		return
	}
	f.queued[name] = true
	f.here(f.jitter(50*time.Millisecond), func() {
		delete(f.queued, name)
		f.reconcile(name)
	})
}

func (f *fleet) run(limit time.Duration) {
	for end := f.now.Add(limit); len(f.todo) > 0 && f.todo[0].at.Before(end); {
		e := heap.Pop(&f.todo).(event)
		f.now = e.at
		e.do()
	}
}

func (f *fleet) add(name, version string) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, Generation: 1, ResourceVersion: "0"}}
	if version != "" {
		hr.Status.History = helmv2.Snapshots{{Version: 1, ChartName: "web", ChartVersion: version, Status: helmv2.StatusDeployed}}
		hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedGeneration = version, 1
		hr.Status.LastAttemptedReleaseAction, hr.Status.LastAttemptedReleaseActionDuration = helmv2.ActionInstall, &metav1.Duration{Duration: time.Second}
		set(hr, helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonInstallSucceeded, "", f.now)
	}
	name = "apps/" + name
	f.names = append(f.names, name)
	f.server[name], f.cache[name] = hr, hr
	return hr
}

func (f *fleet) want(version string) {
	for _, name := range f.names {
		f.wants[name] = version
		f.enqueue(name)
	}
}

func set(hr *helmv2.HelmRelease, kind string, is metav1.ConditionStatus, reason, text string, now time.Time) {
	apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: text, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second))})
}

func drop(hr *helmv2.HelmRelease, kinds ...string) {
	for _, kind := range kinds {
		apimeta.RemoveStatusCondition(&hr.Status.Conditions, kind)
	}
}

// members returns what the controller knows: its cache and its own writes.
func (f *fleet) members(policy.Rollout) ([]Member, Stages) {
	all := make([]Member, 0, len(f.names))
	for _, name := range f.names {
		m := MemberOf(f.view(f.queue.Newest(name, f.cache[name])), f.chart(name), f.now)
		m.DependsOn, m.Outside, m.Starts = f.deps[name], f.outside[name], f.queue.Starts(name)
		if f.byValues {
			m.From, m.Values = []string{shared}, f.queue.ValuesOf(name)
		} else if f.template {
			m.From = []string{"web of the same repository"}
		}
		all = append(all, m)
	}
	return all, StagesOf(f.rule.Order, all)
}

// shared is the object that the values of all releases come from, if waves are of values.
const shared = "ConfigMap/apps/common:values.yaml"

// view returns a HelmRelease as it is if the versions are versions of values.
func (f *fleet) view(hr *helmv2.HelmRelease) *helmv2.HelmRelease {
	if !f.byValues {
		return hr
	}
	hr = hr.DeepCopy()
	for _, s := range hr.Status.History {
		s.ConfigDigest, s.ChartVersion = s.ChartVersion, "1"
	}
	hr.Status.LastAttemptedConfigDigest, hr.Status.LastAttemptedRevision = hr.Status.LastAttemptedRevision, "1"
	return hr
}

// asks returns the turns that an upgrade needs.
func (f *fleet) asks(name string) []Ask {
	if !f.byValues {
		return []Ask{{f.rule, f.chart(name)}}
	}
	var all []Ask
	for _, object := range f.queue.Fresh(name, f.objects(name)) {
		all = append(all, Ask{f.rule, object})
	}
	return all
}

func (f *fleet) objects(name string) []Input { return []Input{{Object: shared, Digest: f.wants[name]}} }

func (f *fleet) chart(name string) Input {
	if f.wants[name] == "" {
		return Input{}
	}
	return Input{Name: "web", Version: f.wants[name]}
}

// write changes status on the server. It fails if the cache is behind. The cache follows later.
func (f *fleet) write(name string, edit func(hr *helmv2.HelmRelease)) bool {
	read := f.cache[name]
	if read.ResourceVersion != f.server[name].ResourceVersion {
		return false
	}
	hr := read.DeepCopy()
	edit(hr)
	f.rv++
	hr.ResourceVersion = strconv.Itoa(f.rv)
	f.server[name], f.replaced[name] = hr, read.ResourceVersion
	f.queue.Wrote(name, read.ResourceVersion, hr)
	f.here(f.jitter(300*time.Millisecond), func() {
		f.cache[name] = hr
		for other, on := range f.deps {
			if slices.Contains(on, name) {
				f.enqueue(other)
			}
		}
		f.wake()
	})
	f.check()
	return true
}

func (f *fleet) wake() {
	if f.queue.Waiting() {
		f.here(f.jitter(10*time.Millisecond), func() {
			for _, name := range f.queue.Next(f.members) {
				f.enqueue(name)
			}
		})
	}
}

// check counts the releases in flight and the failures as the server has them.
func (f *fleet) check() {
	moving, failed := 0, 0
	for _, name := range f.names {
		s := f.server[name].Status
		upgrades := s.LastAttemptedReleaseAction != "" && s.LastAttemptedReleaseActionDuration == nil
		if !f.outside[name] && (upgrades || apimeta.IsStatusConditionTrue(s.Conditions, helmv2.ConditionBaking)) {
			moving++
		}
		if s.UpgradeFailures > 0 && s.LastAttemptedRevision == f.wants[name] {
			failed++
		}
	}
	f.most = max(f.most, moving)
	f.halted = f.rule.MaxFailed > 0 && failed >= int(f.rule.MaxFailed)
}

func (f *fleet) reconcile(name string) {
	hr := f.cache[name]
	if f.replaced[name] == hr.ResourceVersion || f.busy[name] {
		f.here(20*time.Millisecond, func() { f.enqueue(name) })
		return
	}
	waited := f.queue.Begin(name)
	end := func() {
		delete(f.busy, name)
		if f.queue.End(name, waited) {
			f.wake()
		}
	}
	defer func() {
		if !f.busy[name] {
			end()
		}
	}()
	if publish := f.ended[name]; publish != nil {
		if f.write(name, publish) {
			delete(f.ended, name)
		}
		f.here(time.Millisecond, func() { f.enqueue(name) })
		return
	}
	if f.running[name] {
		return
	}
	s, want := hr.Status, f.wants[name]
	if f.byValues && f.queue.Read(f.view(hr), f.objects(name), want, want, false) {
		f.wake()
	}
	last := Input{}
	if w := worked(s.History); w != nil {
		last = Input{Name: w.ChartName, Version: w.ChartVersion}
	}
	baking := apimeta.FindStatusCondition(s.Conditions, helmv2.ConditionBaking)
	tried := s.LastAttemptedRevision
	newestFailed := len(s.History) > 0 && s.History[0].Status == helmv2.StatusFailed
	switch {
	case s.LastAttemptedReleaseAction != "" && s.LastAttemptedReleaseActionDuration == nil:
		f.upgrade(name, tried) // it is resumed
	case newestFailed && tried == want:
		f.act(name, func(hr *helmv2.HelmRelease) {
			set(hr, helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, "", f.now)
		}, f.rolledBack)
	case baking != nil && last.Version == want:
		left := baking.LastTransitionTime.Add(5 * time.Minute).Sub(f.now)
		switch {
		case f.bad(name, want) && left < 3*time.Minute:
			f.write(name, f.crashed)
		case left <= 0:
			f.write(name, func(hr *helmv2.HelmRelease) {
				drop(hr, helmv2.ConditionBaking, helmv2.ConditionReconciling)
				set(hr, helmv2.ConditionReady, metav1.ConditionTrue, helmv2.ReasonUpgradeSucceeded, "", f.now)
			})
		}
		f.here(15*time.Second, func() { f.enqueue(name) })
	case last.Version == want:
	case tried == want && s.UpgradeFailures > 0:
		// Retries are exhausted.
	case slices.ContainsFunc(f.deps[name], func(on string) bool {
		return !apimeta.IsStatusConditionTrue(f.cache[on].Status.Conditions, helmv2.ConditionReady)
	}):
		f.waits(name, metav1.ConditionFalse, helmv2.ReasonDependencyNotReady)
	case !f.outside[name] && !f.queue.Ask(name, f.asks(name), f.members).Free:
		f.waits(name, metav1.ConditionUnknown, helmv2.ReasonAwaitingRollout)
	default:
		if tried != want && (f.halted || !f.open(name)) {
			f.late++
		}
		// Others ask before the announcement. Sometimes there is none.
		f.busy[name] = true
		f.here(f.jitter(200*time.Millisecond), func() {
			defer end()
			if f.rand.IntN(20) == 0 {
				f.here(time.Second, func() { f.enqueue(name) })
				return
			}
			f.upgrade(name, want)
		})
	}
}

// open reports whether all releases of earlier stages have what a release wants, or a later one, as the server has it, unless
// some of them wait for others.
func (f *fleet) open(name string) bool {
	if len(f.deps) > 0 || len(f.rule.Order) == 0 {
		return true
	}
	stage := f.server[name].Labels["stage"]
	for _, other := range f.names {
		s := f.server[other]
		if w := worked(s.Status.History); s.Labels["stage"] < stage && (w == nil || w.ChartVersion < f.wants[name]) {
			return false
		}
	}
	return true
}

func (f *fleet) waits(name string, is metav1.ConditionStatus, reason string) {
	if c := apimeta.FindStatusCondition(f.cache[name].Status.Conditions, helmv2.ConditionReady); c != nil && c.Reason == reason {
		return
	}
	f.write(name, func(hr *helmv2.HelmRelease) { set(hr, helmv2.ConditionReady, is, reason, "", f.now) })
}

// act announces an action and runs it.
func (f *fleet) act(name string, announce, publish func(hr *helmv2.HelmRelease)) {
	if !f.write(name, announce) {
		f.here(20*time.Millisecond, func() { f.enqueue(name) })
		return
	}
	f.running[name] = true
	f.here(10*time.Second+f.jitter(50*time.Second), func() {
		delete(f.running, name)
		f.ended[name] = publish
		f.enqueue(name)
	})
}

func (f *fleet) upgrade(name, version string) {
	f.act(name, func(hr *helmv2.HelmRelease) {
		hr.Status.LastAttemptedReleaseAction, hr.Status.LastAttemptedReleaseActionDuration = helmv2.ActionUpgrade, nil
		if hr.Status.LastAttemptedRevision != version {
			hr.Status.UpgradeFailures = 0
		}
		hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedGeneration = version, 1
		set(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, "", f.now)
		set(hr, helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, "", f.now)
		drop(hr, helmv2.ConditionBaking, helmv2.ConditionRemediated)
	}, func(hr *helmv2.HelmRelease) {
		hr.Status.LastAttemptedReleaseActionDuration = &metav1.Duration{Duration: time.Second}
		record(hr, version, helmv2.StatusDeployed)
		set(hr, helmv2.ConditionReleased, metav1.ConditionTrue, helmv2.ReasonUpgradeSucceeded, "", f.now)
		set(hr, helmv2.ConditionBaking, metav1.ConditionTrue, helmv2.ReasonBaking, "", f.now)
		set(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonBaking, "", f.now)
		set(hr, helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonBaking, "", f.now)
	})
}

func record(hr *helmv2.HelmRelease, version string, is helmv2.ReleaseStatus) {
	for _, s := range hr.Status.History {
		if s.Status == helmv2.StatusDeployed {
			s.Status = helmv2.StatusSuperseded
		}
	}
	hr.Status.History = append(helmv2.Snapshots{{Version: len(hr.Status.History) + 1, ChartName: "web", ChartVersion: version, Status: is}}, hr.Status.History...)
}

// crashed reports trouble in the bake.
func (f *fleet) crashed(hr *helmv2.HelmRelease) {
	hr.Status.History[0].Status = helmv2.StatusFailed
	hr.Status.UpgradeFailures++
	drop(hr, helmv2.ConditionBaking, helmv2.ConditionReconciling)
	set(hr, helmv2.ConditionReleased, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "container web crashes", f.now)
	set(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "container web crashes", f.now)
}

func (f *fleet) rolledBack(hr *helmv2.HelmRelease) {
	record(hr, worked(hr.Status.History).ChartVersion, helmv2.StatusDeployed)
	drop(hr, helmv2.ConditionReconciling)
	set(hr, helmv2.ConditionRemediated, metav1.ConditionTrue, helmv2.ReasonRollbackSucceeded, "", f.now)
}

// TestRolloutSimulated: of 200 releases never more than 10 are in flight. The third bad one halts the
// wave. Bad ones are rolled back, and those that have not begun are untouched. The next chart mends all
// of them. That the controller is killed ten times changes nothing.
func TestRolloutSimulated(t *testing.T) {
	t.Parallel()
	seeds, count := 40, 200
	if testing.Short() {
		seeds, count = 4, 80
	}
	for seed := range uint64(seeds) {
		f := newFleet(t, seed, v1alpha1.Rollout{MaxConcurrent: 10, MaxFailed: 3})
		f.byValues = seed%2 == 1
		for i := range count {
			f.add(fmt.Sprintf("r%03d", i), "1.0.0")
		}
		bad := map[string]bool{}
		for i, name := range f.rand.Perm(count) {
			bad[f.names[name]] = i%5 == 0
		}
		f.bad = func(name, version string) bool { return version == "2.0.0" && bad[name] }
		kills := func(within time.Duration) {
			for range 10 {
				if seed%3 > 0 {
					f.after(f.jitter(within), f.kill)
				}
			}
		}
		f.want("2.0.0")
		kills(15 * time.Minute)
		f.run(2 * time.Hour)
		failed, untouched := 0, 0
		for _, name := range f.names {
			s := f.server[name].Status
			newest := s.History[0]
			switch {
			case s.UpgradeFailures > 0:
				failed++
				if !bad[name] || newest.ChartVersion != "1.0.0" || newest.Status != helmv2.StatusDeployed || len(s.History) != 3 {
					t.Errorf("seed %d: %s was not rolled back: %+v", seed, name, newest)
				}
			case newest.ChartVersion == "1.0.0":
				untouched++
				if len(s.History) != 1 || s.LastAttemptedRevision != "1.0.0" {
					t.Errorf("seed %d: %s has begun: %+v", seed, name, newest)
				}
			case bad[name] || !apimeta.IsStatusConditionTrue(s.Conditions, helmv2.ConditionReady):
				t.Errorf("seed %d: %s: %+v", seed, name, s.Conditions)
			}
		}
		if f.most != 10 || f.late > 0 || failed < 3 || failed > 12 || untouched < count/2 {
			t.Errorf("seed %d: %d in flight, %d late, %d failed, %d untouched", seed, f.most, f.late, failed, untouched)
		}
		f.want("3.0.0")
		kills(time.Hour)
		f.run(12 * time.Hour)
		for _, name := range f.names {
			if s := f.server[name].Status; s.History[0].ChartVersion != "3.0.0" || !apimeta.IsStatusConditionTrue(s.Conditions, helmv2.ConditionReady) {
				t.Errorf("seed %d: %s is not mended: %+v", seed, name, s.Conditions)
			}
		}
		if f.most != 10 {
			t.Errorf("seed %d: %d in flight", seed, f.most)
		}
		if t.Failed() {
			return
		}
	}
}

// TestStagesOfLateReleases: a stage waits for releases of earlier ones even if their sources fetch the chart
// later, or if they are reconciled later with new values.
func TestStagesOfLateReleases(t *testing.T) {
	t.Parallel()
	seeds := 60
	if testing.Short() {
		seeds = 12
	}
	for seed := range uint64(seeds) {
		f := newFleet(t, seed, v1alpha1.Rollout{Order: []metav1.LabelSelector{
			{MatchLabels: map[string]string{"stage": "0"}}, {MatchLabels: map[string]string{"stage": "1"}}, {},
		}})
		f.byValues, f.template = seed%2 == 1, true
		for i := range 20 {
			f.add(fmt.Sprintf("r%02d", i), "1.0.0").Labels = map[string]string{"stage": strconv.Itoa(f.rand.IntN(3))}
		}
		// One after the other has the next chart. Some have the one after that before.
		for _, version := range []string{"2.0.0", "3.0.0"} {
			for _, name := range f.names {
				f.after(f.jitter(40*time.Minute), func() {
					if f.wants[name] < version {
						f.wants[name] = version
						f.enqueue(name)
					}
				})
			}
			for range f.rand.IntN(3) {
				f.after(f.jitter(time.Hour), f.kill)
			}
			f.run(30 * time.Minute)
		}
		f.run(24 * time.Hour)
		for _, name := range f.names {
			if s := f.server[name].Status; s.History[0].ChartVersion != "3.0.0" || !apimeta.IsStatusConditionTrue(s.Conditions, helmv2.ConditionReady) {
				t.Errorf("seed %d: %s waits: %+v", seed, name, s.Conditions)
			}
		}
		if f.late > 0 {
			t.Errorf("seed %d: %d releases have begun too early", seed, f.late)
		}
		if t.Failed() {
			return
		}
	}
}

// TestNoDeadlock: whatever releases depend on each other, whatever their stages are, and whether they are
// installed, upgraded, or not selected, all get the chart.
func TestNoDeadlock(t *testing.T) {
	t.Parallel()
	seeds := 400
	if testing.Short() {
		seeds = 60
	}
	for seed := range uint64(seeds) {
		f := newFleet(t, seed, v1alpha1.Rollout{Order: []metav1.LabelSelector{
			{MatchLabels: map[string]string{"stage": "0"}}, {MatchLabels: map[string]string{"stage": "1"}}, {MatchLabels: map[string]string{"stage": "2"}},
		}})
		f.rule.MaxConcurrent = int32(f.rand.IntN(4))
		f.byValues = seed%3 == 1
		for i := range 4 + f.rand.IntN(20) {
			version := ""
			if f.rand.IntN(2) == 0 {
				version = "1.0.0"
			}
			name := fmt.Sprintf("r%02d", i)
			hr := f.add(name, version)
			hr.Labels = map[string]string{"stage": strconv.Itoa(f.rand.IntN(4))}
			name = "apps/" + name
			f.outside[name] = f.rand.IntN(6) == 0
			for _, on := range f.names[:i] {
				if f.rand.IntN(6) == 0 {
					f.deps[name] = append(f.deps[name], on)
				}
			}
		}
		// Names do not follow dependencies.
		f.rand.Shuffle(len(f.names), func(i, j int) { f.names[i], f.names[j] = f.names[j], f.names[i] })
		for i, name := range f.names {
			f.wants[name] = []string{"2.0.0", "2.0.0", "3.0.0"}[i%3]
			if f.byValues {
				f.wants[name] = "2.0.0"
			}
			f.enqueue(name)
		}
		for range f.rand.IntN(4) {
			f.after(f.jitter(time.Hour), f.kill)
		}
		f.run(24 * time.Hour)
		for _, name := range f.names {
			s := f.server[name].Status
			if worked(s.History) == nil || worked(s.History).ChartVersion != f.wants[name] || !apimeta.IsStatusConditionTrue(s.Conditions, helmv2.ConditionReady) {
				t.Errorf("seed %d: %s waits: %+v", seed, name, s.Conditions)
			}
		}
		if limit := int(f.rule.MaxConcurrent); limit > 0 && f.most > 2*limit {
			t.Errorf("seed %d: %d in flight, of two charts", seed, f.most)
		}
		if t.Failed() {
			return
		}
	}
}
