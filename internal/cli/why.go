// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

func whyCommand(s *Session) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "why NAME",
		Short: "Explain the state of a release: cause, logs, events, what happens next",
		Long: "Shows the state of a HelmRelease in one sentence, the cause that the failed action recorded, what happens next, what to do, " +
			"and the conditions and events. While an action runs, it shows the objects that are not ready, and the time that is left.\n\n" +
			"Objects that fail now are looked for in the cluster. Values of Secrets are left out.",
		Example: "  # Explain why a release is not ready\n" +
			"  kubectl pintle why web -n apps\n\n" +
			"  # Follow an upgrade to its end\n" +
			"  kubectl pintle why web -n apps --watch",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeOne,
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Show each change until no action runs or follows.")
	return s.showCommand(cmd, func(ctx context.Context, c *connection, args []string) error {
		if watch && (s.out == outputJSON || s.out == outputYAML) {
			return errors.New("--watch needs the output table or wide")
		}
		name, err := releaseName(args[0])
		if err != nil {
			return err
		}
		var shown string
		for {
			facts, err := c.reader.Why(ctx, c.namespace, name)
			if err != nil {
				if apierrors.IsNotFound(err) {
					return c.missingRelease(ctx, args[0])
				}
				return err
			}
			if isHelmChart(args[0]) && facts.Release != nil && view.OwnerOf(facts.Release) != ownerName(name) {
				return c.missingRelease(ctx, args[0])
			}
			w := view.Explain(facts)
			if now := progressOf(w); now != shown {
				if shown != "" {
					if _, err := fmt.Fprintln(s.Out, "\n---"); err != nil {
						return err
					}
				}
				first := shown == ""
				shown = now
				if err := s.print(w, func(out io.Writer, style text.Style) error { return text.Why(out, w, style) }); err != nil {
					return err
				}
				if first {
					s.warnUnlessRunning(ctx, c)
				}
			}
			if !watch || w.Running == nil && w.Release.State != view.Progressing && w.Release.State != view.Deleting {
				return nil
			}
			select {
			case <-time.After(pollInterval):
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// progressOf returns what a user wants to see again if it changes: not the time that is left.
func progressOf(w view.Why) string {
	progress := w.Sentence + "\n" + w.Message
	if w.Running != nil {
		progress += fmt.Sprintf("\n%d %v", w.Running.Objects, w.Running.Unready)
	}
	return progress
}
