// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

// items is a list as JSON or YAML.
type items[T any] struct {
	Items []T `json:"items"`
}

// listFlags are the flags that commands with lists share.
type listFlags struct {
	selector  string
	noHeaders bool
}

func (s *Session) addListFlags(cmd *cobra.Command, f *listFlags) {
	s.addAllNamespaces(cmd)
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print no header.")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "Label selector, such as team=shop.")
}

func (f listFlags) labels() (labels.Selector, error) {
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return selector, nil
}

func (s *Session) listStyle(f listFlags) text.Style {
	style := s.style()
	style.NoHeaders = f.noHeaders
	return style
}

// printNone prints that there are no objects, as kubectl does.
func printNone[T any](s *Session, c *connection, what string) error {
	if s.out == outputJSON || s.out == outputYAML {
		return s.print(items[T]{[]T{}}, nil)
	}
	where := ""
	if c.namespace != "" {
		where = fmt.Sprintf(" in %s namespace", c.namespace)
	}
	_, err := fmt.Fprintf(s.ErrOut, "No %s found%s.\n", what, where)
	return err
}

// listCommand returns a command that lists objects that are no HelmReleases. what is their plural.
func listCommand[T any](
	s *Session, cmd *cobra.Command, what string,
	list func(ctx context.Context, c *connection, o ...client.ListOption) ([]T, error),
	table func(w io.Writer, all []T, style text.Style) error,
) *cobra.Command {
	var flags listFlags
	s.addListFlags(cmd, &flags)
	cmd.Args, cmd.ValidArgsFunction = cobra.NoArgs, cobra.NoFileCompletions
	return s.showCommand(cmd, func(ctx context.Context, c *connection, _ []string) error {
		selector, err := flags.labels()
		if err != nil {
			return err
		}
		all, err := list(ctx, c, client.MatchingLabelsSelector{Selector: selector})
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return printNone[T](s, c, what)
		}
		return s.print(items[T]{all}, func(w io.Writer, _ text.Style) error { return table(w, all, s.listStyle(flags)) })
	})
}

func operationsCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "operations",
		Short: "List Operations, failed and running ones first",
		Long: "Lists Operations with their state, hook, target and message.\n\n" +
			"STATE is Failed, Running, Pending, Cancelled or Succeeded. Rows are in this order, the newest first.",
		Example: "  # List the Operations of all namespaces\n" +
			"  kubectl pintle operations -A",
	}
	return listCommand(s, cmd, "Operations", func(ctx context.Context, c *connection, o ...client.ListOption) ([]view.OperationRow, error) {
		list := &opsv1alpha1.OperationList{}
		if err := c.List(ctx, list, append(o, client.InNamespace(c.namespace))...); err != nil {
			return nil, err
		}
		return view.OperationRows(list.Items, s.Now()), nil
	}, text.Operations)
}

func plansCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plans",
		Short: "List plans, those that wait for approval first",
		Long: "Lists ReleasePlans with their state, action, charts and changes. 'kubectl pintle plan NAME' shows one.\n\n" +
			"STATE is AwaitingApproval, Refused, Failed, ApplyFailed, Rejected, Computing, Computed, NotRequired, Approved or Applied. " +
			"Rows are in this order.",
		Example: "  # List what waits for approval in all namespaces\n" +
			"  kubectl pintle plans -A",
	}
	return listCommand(s, cmd, "ReleasePlans", func(ctx context.Context, c *connection, o ...client.ListOption) ([]view.Plan, error) {
		list := &v1alpha1.ReleasePlanList{}
		if err := c.List(ctx, list, append(o, client.InNamespace(c.namespace))...); err != nil {
			return nil, err
		}
		return view.Plans(list.Items), nil
	}, text.Plans)
}

func policiesCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policies",
		Short: "List policies, freezes first",
		Long: "Lists ReleasePolicies and ClusterReleasePolicies with what they demand. Those with a freeze come first, then those with approvals.\n\n" +
			"ClusterReleasePolicies are listed for each namespace, because they may select it.",
		Example: "  # List the policies of namespace apps, and of the cluster\n" +
			"  kubectl pintle policies -n apps",
	}
	return listCommand(s, cmd, "policies", func(ctx context.Context, c *connection, o ...client.ListOption) ([]view.Policy, error) {
		list, cluster := &v1alpha1.ReleasePolicyList{}, &v1alpha1.ClusterReleasePolicyList{}
		if err := c.List(ctx, list, append(o, client.InNamespace(c.namespace))...); err != nil {
			return nil, err
		}
		if err := c.List(ctx, cluster, o...); err != nil {
			_, _ = fmt.Fprintf(s.ErrOut, "ClusterReleasePolicies are left out: %s\n", text.Clean(err.Error()))
		}
		return view.Policies(list.Items, cluster.Items), nil
	}, text.Policies)
}
