// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

func whyCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why NAME",
		Short: "Explain the state of a release: cause, logs, events, what happens next",
		Long: "Shows the state of a HelmRelease in one sentence, the object that fails with the last lines of its log, what happens next, what to do, " +
			"and the conditions and events.\n\n" +
			"The object is looked for in the cluster now. If it is gone, the last event with a cause is shown. Values of Secrets are left out.",
		Example: "  # Explain why a release is not ready\n" +
			"  kubectl pintle why web -n apps",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeOne,
	}
	return s.showCommand(cmd, func(ctx context.Context, c *connection, args []string) error {
		facts, err := c.reader.Why(ctx, c.namespace, args[0])
		if err != nil {
			return err
		}
		w := view.Explain(facts)
		return s.print(w, func(out io.Writer, style text.Style) error { return text.Why(out, w, style) })
	})
}

// completeOne completes the name of one HelmRelease.
func (s *Session) completeOne(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.releaseNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}
