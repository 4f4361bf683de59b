// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

const (
	// lastCommits is how many commits count where there is no other branch to compare with.
	lastCommits = 20
	// maxSuites and maxMinutes limit the long suites that changes ask for.
	maxSuites  = 2
	maxMinutes = 15
	// emptyTree is Git's name of a commit without files.
	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
)

// changedSuites returns the long suites whose subject the last commits changed, most changed first:
// the commits since the merge base with origin/main, or else the last ones.
func changedSuites() ([]string, error) {
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	base, err := git("merge-base", "HEAD", "origin/main")
	if err != nil || base == head {
		if base, err = git("rev-parse", fmt.Sprintf("HEAD~%d", lastCommits)); err != nil {
			base = emptyTree
		}
	}
	files, err := git("diff", "--name-only", base, "HEAD")
	if err != nil {
		return nil, err
	}
	return choose(table(), strings.Fields(files)), nil
}

// choose returns the suites with the most changed files, within the limits.
func choose(suites map[string]suite, files []string) []string {
	count := map[string]int{}
	for name, s := range suites {
		for _, file := range files {
			if slices.ContainsFunc(s.paths, func(path string) bool { return strings.HasPrefix(file, path) }) {
				count[name]++
			}
		}
	}
	var chosen []string
	minutes := 0
	for _, name := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) }) {
		if len(chosen) < maxSuites && minutes+suites[name].minutes <= maxMinutes {
			chosen, minutes = append(chosen, name), minutes+suites[name].minutes
		}
	}
	return chosen
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
