// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

func hooksCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks NAME",
		Short: "List the hooks of the installed and of the next version of a release",
		Long: "Lists the hooks of the deployed revision with their last run, by Helm or by an Operation, and the command that runs each of them. " +
			"The hooks of the next version come from its plan, which does not have weights and delete policies.\n\n" +
			"It reads Helm's record, and needs the right to Secrets in the storage namespace.",
		Example: "  # List the hooks\n" +
			"  kubectl pintle hooks web",
		Args: cobra.ExactArgs(1),
	}
	return s.showReleaseCommand(cmd, func(ctx context.Context, c *connection, hr *helmv2.HelmRelease, _ []string) error {
		hooks, revision, err := c.reader.Hooks(ctx, hr)
		if err != nil {
			return err
		}
		f := view.HookFacts{Release: hr, Revision: revision, Hooks: hooks}
		operations := &opsv1alpha1.OperationList{}
		if err := c.List(ctx, operations, client.InNamespace(hr.Namespace)); err != nil {
			f.Notes = append(f.Notes, "Runs by Operations are left out: "+err.Error())
		}
		f.Operations = operations.Items
		plan := &v1alpha1.ReleasePlan{}
		switch err := c.Get(ctx, client.ObjectKeyFromObject(hr), plan); {
		case err == nil:
			f.Plan = plan
		case !apierrors.IsNotFound(err):
			f.Notes = append(f.Notes, "The plan cannot be read: "+err.Error())
		}
		all := view.HooksOf(f)
		if err := s.print(all, func(w io.Writer, style text.Style) error { return text.Hooks(w, all, style) }); err != nil {
			return err
		}
		if s.out != outputJSON && s.out != outputYAML {
			for _, note := range all.Notes {
				_, _ = fmt.Fprintln(s.ErrOut, text.Clean(note))
			}
		}
		return nil
	})
}
