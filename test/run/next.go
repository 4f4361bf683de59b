// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// next are the next steps of the user.
type next struct {
	// kubectl and plugin are executables.
	kubectl, plugin string
	kubeconfig      string
	// page is the address of the web page, and log the path of the controller's log.
	page, log string
	release   types.NamespacedName
}

// command is a command with the reason to run it.
type command struct {
	why        string
	executable string
	args       string
}

// commands returns the commands to try, in order.
func (n next) commands() []command {
	name := n.release.Name
	return []command{
		{"what is going on, those that need attention first", n.plugin, "get"},
		{"why a release is in its state, and what happens next", n.plugin, "why " + name},
		{"its objects down to Pods, with readiness and drift", n.plugin, "tree " + name},
		{"change a value", n.kubectl, "patch hr " + name + ` --type merge -p '{"spec":{"values":{"message":"good morning"}}}'`},
		{
			"break it: the chart's schema does not allow this (null instead of -1 mends it)",
			n.kubectl, "patch hr " + name + ` --type merge -p '{"spec":{"values":{"replicas":-1}}}'`,
		},
	}
}

// String implements fmt.Stringer.
func (n next) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nEverything is ready. The web page is at\n\n  http://%s\n\nTry next, from this directory in another terminal:\n", n.page)
	for _, c := range n.commands() {
		fmt.Fprintf(&b, "\n  # %s\n  %s --kubeconfig %s -n %s %s\n", c.why, c.executable, n.kubeconfig, n.release.Namespace, c.args)
	}
	fmt.Fprintf(&b, "\ndocs/tutorial.md goes on from here. The controller's log is %s.\n"+
		"What happens is shown here until Ctrl-C, which cleans everything up.\n\n", n.log)
	return b.String()
}
