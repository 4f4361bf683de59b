// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/cli/text"
)

func treeCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the objects of a release, and what they own down to Pods",
		Long: "Shows the objects of the newest revision with their readiness and drift, and the ReplicaSets, Jobs and Pods that they own.\n\n" +
			"If condition Drifted is True, each object is compared with the stored revision, which needs the right to Secrets.",
		Example: "  # Show the objects of a release\n" +
			"  kubectl pintle tree web",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeOne,
	}
	s.addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.out.check(); err != nil {
			return err
		}
		c, err := s.connect()
		if err != nil {
			return err
		}
		hr, err := c.reader.Release(cmd.Context(), c.namespace, args[0])
		if err != nil {
			return err
		}
		tree, err := c.reader.Tree(cmd.Context(), hr)
		if err != nil {
			return err
		}
		return s.print(tree, func(w io.Writer, style text.Style) error { return text.Tree(w, tree, style) })
	}
	return cmd
}
