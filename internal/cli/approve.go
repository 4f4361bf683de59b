// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

// operationName returns the name in operation/NAME or op/NAME; false for other arguments.
func operationName(arg string) (string, bool) {
	kind, name, _ := strings.Cut(arg, "/")
	kind, group, _ := strings.Cut(strings.ToLower(kind), ".")
	is := slices.Contains([]string{"op", "operation", "operations"}, kind) && (group == "" || strings.HasSuffix(group, opsv1alpha1.Group))
	return name, is && name != ""
}

// orOperation returns the command that approves plans, which then also approves Operations.
func (s *Session) orOperation(yes *bool, cmd *cobra.Command) *cobra.Command {
	approvePlan := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, is := operationName(args[0])
		if !is {
			return approvePlan(cmd, args)
		}
		c, err := s.connect()
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("replace") {
			return errors.New("--replace is for plans: an Operation has no objects to replace")
		}
		return s.approveOperation(cmd.Context(), c, name, cmd.Flag("digest").Value.String(), *yes)
	}
	return cmd
}

// approveOperation approves the hooks of an Operation: those with the digest that the user has seen, or
// those that are shown now.
func (s *Session) approveOperation(ctx context.Context, c *connection, name, seen string, yes bool) error {
	op := &opsv1alpha1.Operation{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, op)
	if err != nil {
		return c.suggest(ctx, opsv1alpha1.GroupVersion.WithKind(opsv1alpha1.OperationKind), name, err)
	}
	digest := op.Status.AwaitingApproval
	switch {
	case digest == "":
		return fmt.Errorf("operation %s does not wait for approval: %s", name, text.Clean(view.OperationText(op)))
	case seen != "" && seen != digest:
		return errors.New("the Operation runs other hooks by now: look at them again")
	case seen == "":
		if _, err := fmt.Fprintf(s.Out, "%s\nDigest: %s\n", text.Clean(view.OperationText(op)), text.Clean(digest)); err != nil {
			return err
		}
		if !yes {
			if err := s.confirm("Approve this Operation?", digest); err != nil {
				return err
			}
		}
	}
	user, err := c.user(ctx)
	if err != nil {
		return err
	}
	before := op.DeepCopy()
	op.Spec.Approved, op.Spec.ApprovedBy = digest, user
	if err := c.Patch(ctx, op, client.MergeFrom(before), fieldOwner); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "operation.%s/%s approved: %s\n", opsv1alpha1.Group, op.Name, text.Clean(digest))
	return err
}
