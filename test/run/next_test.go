// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pintle-dev/pintle/internal/cli"
)

// TestNext: the next steps have the address of the page, and the commands have the kubeconfig and the
// namespace.
func TestNext(t *testing.T) {
	n := next{
		kubectl: "bin/cluster/kubectl", plugin: "bin/kubectl-pintle", kubeconfig: "bin/run/1/kubeconfig", page: "127.0.0.1:4567", log: "bin/run/1/log",
		release: types.NamespacedName{Namespace: "demo", Name: "hello"},
	}
	text := n.String()
	for _, part := range []string{
		"\n  http://127.0.0.1:4567\n", "log is bin/run/1/log.", "docs/tutorial.md",
		"\n  bin/kubectl-pintle --kubeconfig bin/run/1/kubeconfig -n demo get\n",
		"\n  bin/kubectl-pintle --kubeconfig bin/run/1/kubeconfig -n demo why hello\n",
		"\n  bin/kubectl-pintle --kubeconfig bin/run/1/kubeconfig -n demo tree hello\n",
		"\n  bin/cluster/kubectl --kubeconfig bin/run/1/kubeconfig -n demo patch hr hello",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// TestPluginCommands: the plugin has the commands, and accepts their arguments.
func TestPluginCommands(t *testing.T) {
	n := next{kubectl: "kubectl", plugin: "plugin", release: types.NamespacedName{Namespace: "demo", Name: "hello"}}
	tested := 0
	for _, c := range n.commands() {
		if c.executable != n.plugin {
			continue
		}
		tested++
		root := cli.Command(&cli.Session{IOStreams: genericiooptions.NewTestIOStreamsDiscard()})
		cmd, args, err := root.Find(strings.Fields(c.args))
		if err != nil {
			t.Fatal(err)
		}
		if cmd == root {
			t.Errorf("%q is no command", c.args)
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("%q: %v", c.args, err)
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%q: %v", c.args, err)
		}
	}
	if tested < 3 {
		t.Errorf("%d commands are those of the plugin", tested)
	}
}
