// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// chartSource is the kind of source of a release's chart. It depends on the release's number.
type chartSource int

const (
	// pinned: from the OCIRepository of its version.
	pinned chartSource = iota
	// rolling: an OCIRepository that many releases share and whose version changes.
	rolling
	// templated: from a HelmChart that the controller makes.
	templated
	// fickle: another chart, whose Pods fail if the values require it.
	fickle
)

func mannerOf(i int) chartSource {
	switch i % 8 {
	case 0:
		return fickle
	case 1, 5:
		return templated
	case 2:
		return rolling
	}
	return pinned
}

const (
	// sharers is the number of shared ConfigMaps with values, and of shared Secrets.
	sharers = 8
	// rollers is how many OCIRepositories change their version.
	rollers = 2
)

// versions are those the chart bench is offered in; fickleVersion is the only one
// of the chart fickle.
func versions() []string { return []string{"0.1.0", "0.2.0", "0.3.0"} }

const fickleVersion = "0.1.0"

// release is the wanted state of a HelmRelease. Numbers without further meaning, like message,
// count up with every change.
type release struct {
	exists    bool
	suspended bool
	broken    bool
	version   string
	message   int
	replicas  int
	interval  time.Duration
	// config and secret are the numbers of the objects with its values, negative for none.
	config, secret int
	// reconcile, force and reset are the newest requests; zero is none.
	reconcile, force, reset int
}

// source is the wanted artifact of an OCIRepository: none while it is broken.
type source struct {
	name, chart, version string
	broken               bool
}

// kind is the kind of an object.
type kind int

const (
	aRelease kind = iota
	aSource
	aConfig
	aSecret
)

// object identifies an object of a fleet by kind and number.
type object struct {
	kind  kind
	index int
}

// fleet is the wanted state of the cluster. It changes at random, determined by its seed. It is not
// safe for concurrent use.
type fleet struct {
	random   *rand.Rand
	counter  int
	releases []release
	sources  []source
	// configs and secrets are the contents of the shared ConfigMaps and Secrets.
	configs, secrets []int
}

func newFleet(seed uint64, n int) *fleet {
	f := &fleet{
		random:   rand.New(rand.NewPCG(seed, 1)),
		releases: make([]release, n),
		configs:  make([]int, sharers), secrets: make([]int, sharers),
	}
	for _, v := range versions() {
		f.sources = append(f.sources, source{name: "bench-" + v, chart: benchChart, version: v})
	}
	for i := range rollers {
		f.sources = append(f.sources, source{name: rollingName(i), chart: benchChart, version: versions()[0]})
	}
	f.sources = append(f.sources, source{name: fickleChart, chart: fickleChart, version: fickleVersion})
	for i := range f.releases {
		f.releases[i] = release{
			exists: true, version: f.pick(versions()), interval: f.anInterval(),
			config: f.sharer(), secret: f.sharer(),
		}
	}
	return f
}

func rollingName(i int) string { return fmt.Sprintf("rolling-%d", i) }

// sharer returns the number of a ConfigMap or Secret, for about half of all.
func (f *fleet) sharer() int { return f.random.IntN(2*sharers) - sharers }

func (f *fleet) anInterval() time.Duration {
	return time.Duration(30+f.random.IntN(270)) * time.Second
}

func (f *fleet) pick(from []string) string { return from[f.random.IntN(len(from))] }

func (f *fleet) next() int {
	f.counter++
	return f.counter
}

// changeKind is a kind of change. It returns the changed object, and false if no object can be
// changed that way.
type changeKind struct {
	name   string
	weight int
	do     func(*fleet) (object, bool)
}

func deeds() []changeKind {
	living := func(r *release, _ int) bool { return r.exists }
	return []changeKind{
		{"change values", 30, toRelease(living, func(f *fleet, r *release) { r.message = f.next() })},
		{"switch version", 15, toRelease(chooses, func(f *fleet, r *release) { r.version = f.pick(versions()) })},
		{"switch shared version", 1, func(f *fleet) (object, bool) {
			i := len(versions()) + f.random.IntN(rollers)
			f.sources[i].version = f.pick(versions())
			return object{aSource, i}, true
		}},
		{"break pods", 4, toRelease(failing(false), func(f *fleet, r *release) { r.broken, r.message = true, f.next() })},
		{"mend pods", 4, toRelease(failing(true), func(f *fleet, r *release) { r.broken, r.message = false, f.next() })},
		{"scale", 4, toRelease(failing(false), func(f *fleet, r *release) { r.replicas = f.random.IntN(3) })},
		{"edit ConfigMap", 3, toShared(aConfig, func(f *fleet) []int { return f.configs })},
		{"edit Secret", 3, toShared(aSecret, func(f *fleet) []int { return f.secrets })},
		{"change interval", 5, toRelease(living, func(f *fleet, r *release) { r.interval = f.anInterval() })},
		{"suspend", 5, toRelease(
			func(r *release, _ int) bool { return r.exists && !r.suspended },
			func(_ *fleet, r *release) { r.suspended = true },
		)},
		{"resume", 5, toRelease(
			func(r *release, _ int) bool { return r.exists && r.suspended },
			func(_ *fleet, r *release) { r.suspended = false },
		)},
		{"request reconciliation", 8, toRelease(living, func(f *fleet, r *release) { r.reconcile = f.next() })},
		{"request force", 3, toRelease(living, func(f *fleet, r *release) { r.reconcile = f.next(); r.force = r.reconcile })},
		{"request reset", 4, toRelease(living, func(f *fleet, r *release) { r.reconcile = f.next(); r.reset = r.reconcile })},
		// Deleting a suspended HelmRelease would keep its release.
		{"delete", 4, toRelease(
			func(r *release, _ int) bool { return r.exists && !r.suspended },
			func(_ *fleet, r *release) { r.exists = false },
		)},
		{"create again", 4, toRelease(
			func(r *release, _ int) bool { return !r.exists },
			func(f *fleet, r *release) { r.exists, r.message = true, f.next() },
		)},
		{"break source", 1, toSource(false)},
		{"mend source", 3, toSource(true)},
	}
}

func chooses(r *release, i int) bool {
	return r.exists && (mannerOf(i) == pinned || mannerOf(i) == templated)
}

func failing(broken bool) func(*release, int) bool {
	return func(r *release, i int) bool { return r.exists && mannerOf(i) == fickle && r.broken == broken }
}

// toRelease applies a change to one release of those that it suits.
func toRelease(suits func(*release, int) bool, do func(*fleet, *release)) func(*fleet) (object, bool) {
	return func(f *fleet) (object, bool) {
		first := f.random.IntN(len(f.releases))
		for j := range f.releases {
			i := (first + j) % len(f.releases)
			if suits(&f.releases[i], i) {
				do(f, &f.releases[i])
				return object{aRelease, i}, true
			}
		}
		return object{}, false
	}
}

func toShared(k kind, contents func(*fleet) []int) func(*fleet) (object, bool) {
	return func(f *fleet) (object, bool) {
		i := f.random.IntN(sharers)
		contents(f)[i] = f.next()
		return object{k, i}, true
	}
}

// toSource repairs a broken source, or breaks one if none is broken: with all of them broken, no
// release would change any more.
func toSource(mend bool) func(*fleet) (object, bool) {
	return func(f *fleet) (object, bool) {
		for i := range f.sources {
			if f.sources[i].broken {
				f.sources[i].broken = !mend
				return object{aSource, i}, mend
			}
		}
		if mend {
			return object{}, false
		}
		i := f.random.IntN(len(f.sources))
		f.sources[i].broken = true
		return object{aSource, i}, true
	}
}

// change makes one random change, and returns its name and object.
func (f *fleet) change() (string, object) {
	all := deeds()
	sum := 0
	for _, d := range all {
		sum += d.weight
	}
	for {
		at := f.random.IntN(sum)
		for _, d := range all {
			if at -= d.weight; at >= 0 {
				continue
			}
			if o, done := d.do(f); done {
				return d.name, o
			}
			break
		}
	}
}

// mend removes everything that keeps releases from their wanted state, and returns the changed
// objects.
func (f *fleet) mend() []object {
	var mended []object
	for i := range f.sources {
		if f.sources[i].broken {
			f.sources[i].broken = false
			mended = append(mended, object{aSource, i})
		}
	}
	for i := range f.releases {
		if r := &f.releases[i]; r.exists && (r.suspended || r.broken) {
			r.suspended, r.broken = false, false
			mended = append(mended, object{aRelease, i})
		}
	}
	return mended
}

// wantedVersion returns the version of the chart that a release shall have.
func (f *fleet) wantedVersion(i int) string {
	switch mannerOf(i) {
	case rolling:
		return f.sources[len(versions())+i/8%rollers].version
	case fickle:
		return fickleVersion
	case pinned, templated:
	}
	return f.releases[i].version
}

// own returns the values in the spec of a release.
func (f *fleet) own(i int) map[string]any {
	r := &f.releases[i]
	values := map[string]any{"message": fmt.Sprintf("message %d", r.message)}
	if mannerOf(i) == fickle {
		values["replicas"] = r.replicas
		if r.broken {
			values["replicas"] = 1
			values["podAnnotations"] = map[string]any{"simulate.pintle.dev/ready": "never"}
		}
	}
	return values
}

// values returns the merged values of a release, including those of its ConfigMap and Secret.
func (f *fleet) values(i int) map[string]any {
	all := f.own(i)
	if c := f.releases[i].config; c >= 0 {
		all["service"] = map[string]any{"port": f.port(c)}
	}
	if s := f.releases[i].secret; s >= 0 {
		all["ingress"] = map[string]any{"host": f.host(s)}
	}
	return all
}

func (f *fleet) port(config int) int { return 1000 + f.configs[config]%10000 }

func (f *fleet) host(secret int) string { return fmt.Sprintf("h%d.example.com", f.secrets[secret]) }

// restart is an end of the controller, from which it is started again.
type restart struct {
	// after is the time since the previous restart, down how long no controller runs.
	after, down time.Duration
	// kill uses SIGKILL instead of SIGTERM.
	kill bool
}

// restarts returns about n restarts within a time, at least two: one of either kind.
func restarts(seed uint64, n int, within time.Duration) []restart {
	random := rand.New(rand.NewPCG(seed, 2))
	n = max(2, n)
	all := make([]restart, n)
	for i := range all {
		part := float64(within) / float64(n)
		all[i] = restart{
			after: time.Duration(part * (0.3 + 0.6*random.Float64())),
			down:  time.Duration(random.IntN(3000)) * time.Millisecond,
			kill:  i == 0 || i > 1 && random.IntN(3) > 0,
		}
	}
	return all
}
