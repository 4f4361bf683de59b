// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/request"
)

func planCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan NAME",
		Short: "Show what the next action of a release would change",
		Long: "Shows the ReleasePlan of a HelmRelease: objects, fields, images, keys of values and hooks. It has no values of Secrets.\n\n" +
			"A plan exists while a change waits for approval. --request requests one, with the annotation pintle.dev/plan, and waits for it. " +
			"It changes nothing else, and the release may be suspended.",
		Example: "  # Show the plan that waits for approval\n" +
			"  kubectl pintle plan web\n\n" +
			"  # Request a plan of what the next action would change, and show it\n" +
			"  kubectl pintle plan web --request",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeOne,
	}
	requested, timeout := false, time.Duration(0)
	cmd.Flags().BoolVar(&requested, "request", false, "Request a plan, and wait for it.")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "The length of time to wait for a requested plan. The request stays.")
	return s.showCommand(cmd, func(ctx context.Context, c *connection, args []string) error {
		if requested {
			if err := s.requestPlan(ctx, c, args[0], timeout); err != nil {
				return err
			}
		}
		plan, err := c.plan(ctx, args[0])
		if err != nil {
			return err
		}
		v := view.PlanOf(plan)
		return s.print(v, func(w io.Writer, style text.Style) error { return text.Plan(w, v, style) })
	})
}

// plan returns the plan of the HelmRelease that an argument names.
func (c *connection) plan(ctx context.Context, arg string) (*v1alpha1.ReleasePlan, error) {
	name, err := releaseName(arg)
	if err != nil {
		return nil, err
	}
	plan := &v1alpha1.ReleasePlan{}
	if err = c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, plan); !apierrors.IsNotFound(err) {
		return plan, err
	}
	hr, err := c.release(ctx, name)
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s/%s has no plan. Request one: kubectl pintle plan %[2]s -n %[1]s --request", hr.Namespace, hr.Name)
}

// requestPlan requests a plan, and waits until it is computed.
func (s *Session) requestPlan(ctx context.Context, c *connection, arg string, timeout time.Duration) error {
	hr, err := c.release(ctx, arg)
	if err != nil {
		return err
	}
	key, plan := client.ObjectKeyFromObject(hr), &v1alpha1.ReleasePlan{}
	// Without the CRD or the right to read plans, no answer would be seen.
	if err := c.Get(ctx, key, plan); client.IgnoreNotFound(err) != nil {
		return err
	}
	token, changed := request.Token(s.Now()), hr.DeepCopy()
	request.ApplyPlan(changed, token)
	if err := c.Patch(ctx, changed, client.MergeFrom(hr), fieldOwner); err != nil {
		return err
	}
	return s.await(ctx, timeout, func(ctx context.Context) (request.Progress, error) {
		hr, err := c.reader.Release(ctx, key.Namespace, key.Name)
		if err != nil {
			return request.Progress{}, err
		}
		plan := &v1alpha1.ReleasePlan{}
		if err := c.Get(ctx, key, plan); client.IgnoreNotFound(err) != nil {
			return request.Progress{}, err
		}
		return request.PlanProgress(hr, plan, token, s.Now()), nil
	})
}

func approveCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve NAME|operation/NAME",
		Short: "Approve the plan of a release, or an Operation",
		Long: "Shows the ReleasePlan and asks, unless --digest names the plan that was looked at. Then it sets spec.approved to the digest that was shown, " +
			"and spec.approvedBy to the user of the kubeconfig. The approval counts for this digest only.\n\n" +
			"--replace names an object that the API server refuses to change, and would create in its new form. The upgrade deletes and creates it. " +
			"The controller honours it only where the admission policy " + v1alpha1.ReplacePolicy + " is installed.\n\n" +
			"operation/NAME approves the hooks of an Operation that waits for it, likewise by their digest. kubectl pintle hooks shows them.",
		Example: "  # Look at the plan, and approve it\n" +
			"  kubectl pintle approve web\n\n" +
			"  # Approve the plan that was shown before\n" +
			"  kubectl pintle plan web\n" +
			"  kubectl pintle approve web --digest sha256:...\n\n" +
			"  # Approve the plan, and replace a StatefulSet whose claim templates change\n" +
			"  kubectl pintle approve web --replace StatefulSet/db\n\n" +
			"  # Approve an Operation\n" +
			"  kubectl pintle approve operation/web-migrate",
	}
	yes := false
	cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask before what is shown is approved.")
	var replace []string
	cmd.Flags().StringArrayVar(&replace, "replace", nil, "An object that is deleted and created anew: KIND/NAME, or NAMESPACE/KIND/NAME. Repeatable.")
	confirm := func(plan *v1alpha1.ReleasePlan) error {
		if err := view.Approve(plan.DeepCopy(), "", "", replace...); err != nil {
			return err
		}
		return s.confirmPlan(plan, "Approve this plan?", yes)
	}
	return s.orOperation(&yes, decideCommand(s, cmd, "approved", confirm, func(ctx context.Context, c *connection, plan *v1alpha1.ReleasePlan, seen string) error {
		user, err := c.user(ctx)
		if err != nil {
			return err
		}
		return view.Approve(plan, seen, user, replace...)
	}))
}

// user returns the name of the user of the kubeconfig.
func (c *connection) user(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", fmt.Errorf("the API server does not tell which user decides: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

func rejectCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reject NAME",
		Short: "Reject the plan of a release",
		Long: "Sets spec.rejected of the ReleasePlan to its digest, spec.rejectedBy to the user of the kubeconfig, and spec.rejectionReason. " +
			"The plan is not applied, and the release is Rejected. A change of the inputs makes another plan.",
		Example: "  # Reject the plan, and say why\n" +
			"  kubectl pintle reject web --reason 'not during the sale'",
	}
	reason := ""
	cmd.Flags().StringVar(&reason, "reason", "", "Why the plan is rejected, for other users.")
	return decideCommand(s, cmd, "rejected", nil, func(ctx context.Context, c *connection, plan *v1alpha1.ReleasePlan, seen string) error {
		user, err := c.user(ctx)
		if err != nil {
			return err
		}
		return view.Reject(plan, seen, user, reason)
	})
}

func overrideCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override NAME",
		Short: "Let the next action of a release pass freezes and windows, once",
		Long: "Shows the ReleasePlan and asks, unless --digest names the plan that was looked at. Then it sets spec.override to the digest that was shown, " +
			"the user of the kubeconfig and the reason. The action of this plan passes the freezes and windows of policies, once. It still needs an approval, if policies demand one.\n\n" +
			"The user needs the verb override on the ReleasePlan. The controller honours overrides only where the admission policy " + v1alpha1.OverridePolicy + " is installed.",
		Example: "  # Upgrade now, although the window is closed\n" +
			"  kubectl pintle override web --reason 'incident 4711: fixes the leak'\n\n" +
			"  # A frozen release has no plan until one is requested\n" +
			"  kubectl pintle plan web --request\n" +
			"  kubectl pintle override web --reason 'incident 4711: fixes the leak' --digest sha256:...",
	}
	reason, yes := "", false
	cmd.Flags().StringVar(&reason, "reason", "", "Why policies are overridden, for other users: at most 256 characters. Required.")
	cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask before policies are overridden for what is shown.")
	_ = cmd.MarkFlagRequired("reason")
	confirm := func(plan *v1alpha1.ReleasePlan) error {
		if err := view.Override(plan.DeepCopy(), "", "", reason, s.Now()); err != nil {
			return err
		}
		return s.confirmPlan(plan, "Override policies for this plan?", yes)
	}
	return decideCommand(s, cmd, "overrides policies", confirm, func(ctx context.Context, c *connection, plan *v1alpha1.ReleasePlan, seen string) error {
		user, err := c.user(ctx)
		if err != nil {
			return err
		}
		return view.Override(plan, seen, user, reason, s.Now())
	})
}

// confirmPlan shows a plan in full, and returns an error unless the user answers the question with yes.
func (s *Session) confirmPlan(plan *v1alpha1.ReleasePlan, question string, yes bool) error {
	style := s.style()
	style.Wide = true
	if err := text.Plan(s.Out, view.PlanOf(plan), style); err != nil || yes {
		return err
	}
	return s.confirm(question, plan.Status.Digest)
}

// confirm returns an error unless the user types yes.
func (s *Session) confirm(question, digest string) error {
	_, _ = fmt.Fprintf(s.ErrOut, "\n%s Type yes: ", question)
	answer, _ := bufio.NewReader(s.In).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return fmt.Errorf("nothing was changed: type yes, or set --yes or --digest %s", digest)
	}
	return nil
}

// decideCommand returns a command that decides about a plan. Without the flag --digest, confirm is
// called first, if it is set: it shows the plan.
func decideCommand(s *Session, cmd *cobra.Command, done string, confirm func(plan *v1alpha1.ReleasePlan) error, decide func(ctx context.Context, c *connection, plan *v1alpha1.ReleasePlan, seen string) error) *cobra.Command {
	seen := ""
	cmd.Args, cmd.ValidArgsFunction = cobra.ExactArgs(1), s.completeOne
	cmd.Flags().StringVar(&seen, "digest", "", "The digest of the plan that was looked at. If the plan is another one by now, nothing is changed.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.connect()
		if err != nil {
			return err
		}
		plan, err := c.plan(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if seen == "" && confirm != nil {
			if err := confirm(plan); err != nil {
				return err
			}
			seen = plan.Status.Digest
			if plan, err = c.plan(cmd.Context(), args[0]); err != nil {
				return err
			}
		}
		before := plan.DeepCopy()
		if err := decide(cmd.Context(), c, plan, seen); err != nil {
			return err
		}
		if err := c.Patch(cmd.Context(), plan, client.MergeFrom(before), fieldOwner); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "releaseplan.%s/%s %s: %s\n", v1alpha1.Group, plan.Name, done, text.Clean(plan.Status.Digest))
		for _, sentence := range view.Replaced(plan) {
			_, err = fmt.Fprintln(s.Out, text.Clean(sentence))
		}
		return err
	}
	return cmd
}
