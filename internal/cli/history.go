// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

func historyCommand(s *Session) *cobra.Command {
	var sides []string
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of a release, or compare two of them",
		Long: "Lists the stored revisions with chart, source, what made them, duration and result. With --diff, the objects and values " +
			"that differ between two revisions are shown, without values of Secrets.\n\n" +
			"It reads Helm's records, and needs the right to Secrets in the storage namespace.",
		Example: "  # List the revisions\n" +
			"  kubectl pintle history web\n\n" +
			"  # Compare revision 4 with revision 5\n" +
			"  kubectl pintle history web --diff 4 5",
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringSliceVar(&sides, "diff", nil, "Compare two revisions: --diff A B, or --diff A,B.")
	s.completeRevision(cmd, "diff")
	second := s.completeWith(revisionsOf)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if cmd.Flags().Changed("diff") {
			return second(cmd, args, prefix)
		}
		return s.completeOne(cmd, args, prefix)
	}
	return s.showReleaseCommand(cmd, func(ctx context.Context, c *connection, hr *helmv2.HelmRelease, args []string) error {
		if cmd.Flags().Changed("diff") {
			return s.compare(ctx, c, hr, append(sides, args[1:]...))
		}
		if len(args) > 1 {
			return fmt.Errorf("accepts 1 arg without --diff, received %d", len(args))
		}
		s.noteOwner(hr)
		records, err := c.reader.History(ctx, hr)
		if err != nil {
			return err
		}
		all := view.History(hr, records)
		if len(all) == 0 && s.out != outputJSON && s.out != outputYAML {
			_, err := fmt.Fprintf(s.ErrOut, "No revisions found for %s/%s.\n", hr.Namespace, hr.Name)
			return err
		}
		return s.print(items[view.Revision]{all}, func(w io.Writer, style text.Style) error { return text.History(w, all, style) })
	})
}

// compare prints the differences of two revisions.
func (s *Session) compare(ctx context.Context, c *connection, hr *helmv2.HelmRelease, sides []string) error {
	from, to, err := revisions(sides)
	if err != nil {
		return err
	}
	a, b, err := c.reader.Sides(ctx, hr, from, to)
	if err != nil {
		return err
	}
	all := manifest.Compare(a, b)
	return s.print(items[manifest.Difference]{all}, func(w io.Writer, style text.Style) error { return text.Differences(w, all, style) })
}

// revisions parses the value of --diff.
func revisions(sides []string) (from, to int, err error) {
	if len(sides) == 2 {
		from, err = strconv.Atoi(sides[0])
		if err == nil {
			to, err = strconv.Atoi(sides[1])
		}
		if err == nil && from > 0 && to > 0 && from != to {
			return from, to, nil
		}
	}
	return 0, 0, fmt.Errorf("--diff takes two revisions, such as --diff 4 5")
}
