// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Stages are the stages of releases. They depend on labels and dependencies alone, not on charts, so
// that no wave of a policy can block another one by its stages.
type Stages struct {
	// Count is the number of stages.
	Count int
	// of has the stage of each selected release, from 0.
	of map[string]int
}

// StagesOf returns the stages of the releases that a policy selects: each release is in the first stage
// that selects it, or in the last one. A release that others depend on, directly or not, is in none
// after theirs: otherwise stage and dependency would wait for each other.
func StagesOf(order []metav1.LabelSelector, members []Member) Stages {
	selectors := make([]labels.Selector, 0, len(order))
	for i := range order {
		s, err := metav1.LabelSelectorAsSelector(&order[i])
		if err != nil {
			// Policies with such a selector are not evaluated.
			s = labels.Nothing()
		}
		selectors = append(selectors, s)
	}
	// The last stage is one of its own only if the last selector leaves out releases.
	count := max(len(selectors), 1)
	if len(selectors) > 0 && !selectors[len(selectors)-1].Empty() {
		count++
	}
	stages := Stages{Count: count, of: make(map[string]int, len(members))}
	at := func(m *Member) int {
		for i, s := range selectors {
			if s.Matches(labels.Set(m.Labels)) {
				return i
			}
		}
		return count - 1
	}
	byStage := make([][]*Member, count+1)
	all := make(map[string]*Member, len(members))
	for i := range members {
		m := &members[i]
		all[m.Key()] = m
		stage := count
		if !m.Outside {
			stage = at(m)
		}
		byStage[stage] = append(byStage[stage], m)
	}
	if count == 1 {
		for key, m := range all {
			if !m.Outside {
				stages.of[key] = 0
			}
		}
		return stages
	}
	// From the first stage, whatever it depends on and has no stage yet gets this one.
	for stage, queue := range byStage {
		for len(queue) > 0 {
			m := queue[0]
			queue = queue[1:]
			if _, has := stages.of[m.Key()]; has {
				continue
			}
			stages.of[m.Key()] = stage
			for _, key := range m.DependsOn {
				if on := all[key]; on != nil {
					queue = append(queue, on)
				}
			}
		}
	}
	return stages
}

// cycle returns a cycle of dependencies among some releases, as "a -> b -> a"; empty if there is none.
func cycle(members []*Member) string {
	all := make(map[string]*Member, len(members))
	for _, m := range members {
		all[m.Key()] = m
	}
	const visiting, visited = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(m *Member) string
	visit = func(m *Member) string {
		key := m.Key()
		switch state[key] {
		case visited:
			return ""
		case visiting:
			for i, on := range path {
				if on == key {
					return strings.Join(append(path[i:], key), " -> ")
				}
			}
		}
		state[key], path = visiting, append(path, key)
		for _, on := range m.DependsOn {
			if next := all[on]; next != nil {
				if found := visit(next); found != "" {
					return found
				}
			}
		}
		state[key], path = visited, path[:len(path)-1]
		return ""
	}
	for _, m := range members {
		if found := visit(m); found != "" {
			return found
		}
	}
	return ""
}
