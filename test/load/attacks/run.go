// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// calmWaves is the number of waves of upgrades without attacks.
	calmWaves = 3
	// patience is the median of the upgrades that is always allowed.
	patience = 5 * time.Second
)

// phase is a part of a run with its own measurements.
type phase struct {
	name string
	// calm is true for a phase without attacks.
	calm     bool
	outcomes []outcome
	upgrades wave
}

// named adds the name of an attack to an error.
func named(attack corpus.Attack, err error) error { return fmt.Errorf("%s: %w", attack.Name, err) }

func run(ctx context.Context, s settings, w *frame.World) error {
	frame.Say("seed %d", s.Seed)
	a, err := start(ctx, s, w)
	if err != nil {
		return err
	}
	began := time.Now()
	phases, err := a.phases(ctx)
	report := tables(phases)
	broken := append(failures(phases), a.broken(phases)...)
	report += a.summary(phases, broken, time.Since(began))
	fmt.Print(report)
	if s.table != "" {
		err = errors.Join(err, os.WriteFile(s.table, []byte(report), 0o600))
	}
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("%d promises were broken", len(broken))
	}
	return err
}

// phases runs all phases. It returns those that were begun, also with an error.
func (a *arena) phases(ctx context.Context) ([]phase, error) {
	attacks := a.attacks()
	frame.Say("publishing the charts of %d attacks", len(attacks))
	if err := a.publish(ctx, attacks); err != nil {
		return nil, err
	}
	for _, namespace := range hostileNamespaces() {
		if err := a.Env.Client.Create(ctx, newRelease(namespace, corpus.Honest, harmless)); err != nil {
			return nil, err
		}
	}
	h, err := newHerd(ctx, a)
	if err != nil {
		return nil, err
	}
	calm, err := h.calm(ctx, "calm")
	if err != nil {
		return nil, err
	}
	frame.Say("without attacks, the median of upgrades is %s", frame.Median(calm.upgrades.took).Round(time.Millisecond))
	all := []phase{calm}
	add := func(name string, do func(context.Context, func(outcome)) error) error {
		frame.Say("%s", name)
		p := phase{name: name}
		p.upgrades, err = h.during(ctx, func(ctx context.Context) error {
			return do(ctx, func(o outcome) {
				frame.Say("%s", o.line())
				p.outcomes = append(p.outcomes, o)
			})
		})
		all = append(all, p)
		return err
	}
	if err := add("one by one", func(ctx context.Context, note func(outcome)) error { return a.oneByOne(ctx, attacks, note) }); err != nil {
		return all, err
	}
	for i := range a.rounds {
		seed, namespaces := a.Seed+uint64(i), hostileNamespaces()
		if i%2 == 0 {
			namespaces = []string{hostile}
		}
		name := fmt.Sprintf("ten at once in %d namespaces, seed %d", len(namespaces), seed)
		if err := add(name, func(ctx context.Context, note func(outcome)) error {
			return a.together(ctx, corpus.Sample(attacks, atOnce, seed), namespaces, fmt.Sprint("-r", i), note)
		}); err != nil {
			return all, err
		}
	}
	if a.short {
		// Other tests may have begun to use the processors since the first one.
		if calm, err = h.calm(ctx, "calm at the end"); err != nil {
			return all, err
		}
		all = append(all, calm)
	}
	return all, nil
}

// broken returns the promises about the controller that were broken.
func (a *arena) broken(phases []phase) []string {
	var all []string
	if err := a.Env.Controller.Ended(); err != nil || a.Env.Controller.PID() != a.pid {
		all = append(all, fmt.Sprintf("the controller never restarts: %v", err))
	}
	highest, count, err := a.memory.Peak()
	if err != nil || count == 0 {
		all = append(all, fmt.Sprintf("memory is measured: %d measurements, %v", count, err))
	}
	if highest > memoryLimit>>20 {
		all = append(all, fmt.Sprintf("the processes take at most %d MiB: they took %.0f MiB", memoryLimit>>20, highest))
	}
	if a.group != nil {
		if kills, err := a.group.kills(); err != nil || kills > 0 {
			all = append(all, fmt.Sprintf("the kernel kills no process at the limit of the container: it killed %d, %v", kills, err))
		}
	}
	if len(phases) == 0 {
		return all
	}
	var calm time.Duration
	for _, p := range phases {
		if p.calm {
			calm = max(calm, frame.Median(p.upgrades.took))
		}
	}
	allowed := a.allowed(patience)
	for _, p := range phases {
		if m := frame.Median(p.upgrades.took); !p.calm && m > max(2*calm, allowed) {
			all = append(all, fmt.Sprintf("%s: upgrades beside attacks take at most twice as long, or %s: the median is %s, and %s without attacks", p.name, allowed, m.Round(time.Millisecond), calm.Round(time.Millisecond)))
		}
	}
	return all
}
