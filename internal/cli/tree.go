// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
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
		Args: cobra.ExactArgs(1),
	}
	return s.showReleaseCommand(cmd, func(ctx context.Context, c *connection, hr *helmv2.HelmRelease, _ []string) error {
		tree, err := c.reader.Tree(ctx, hr)
		if err != nil {
			return err
		}
		return s.print(tree, func(w io.Writer, style text.Style) error { return text.Tree(w, tree, style) })
	})
}
