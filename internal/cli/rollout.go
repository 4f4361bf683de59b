// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/view"
)

func rolloutCommand(s *Session) *cobra.Command {
	var noHeaders bool
	cmd := &cobra.Command{
		Use:   "rollout [POLICY]",
		Short: "Show how new charts spread over the releases of policies",
		Long: "Shows the waves of policies with a rollout: which releases have a new chart or new values, are in flight, have failed or wait.\n\n" +
			"POLICY is the name of a policy, or KIND/NAME. STATE is Failed, Passed, Baking, Running, Waiting or Suspended. " +
			"Passed has failed before the rollout was resumed. With '-o wide', all releases are listed, also those that have the chart or values.",
		Example: "  # Show all waves\n" +
			"  kubectl pintle rollout -A\n\n" +
			"  # Show the waves of one policy\n" +
			"  kubectl pintle rollout fleet",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	s.addAllNamespaces(cmd)
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "Print no header.")
	s.showCommand(cmd, func(ctx context.Context, c *connection, args []string) error {
		var keep func(*policy.Policy) bool
		if len(args) > 0 {
			p, err := c.policy(ctx, args[0])
			if err != nil {
				return err
			}
			key := client.ObjectKeyFromObject(p)
			keep = func(p *policy.Policy) bool { return p.Name == key.Name && p.Namespace == key.Namespace }
		}
		all, unread, err := c.reader.Rollouts(ctx, c.namespace, keep)
		if err != nil {
			return err
		}
		for _, what := range unread {
			_, _ = fmt.Fprintln(s.ErrOut, text.Clean(what))
		}
		if len(all) == 0 {
			return printNone[view.Rollout](s, c, "rollouts")
		}
		return s.print(items[view.Rollout]{all}, func(w io.Writer, style text.Style) error {
			style.NoHeaders = noHeaders
			return text.Rollouts(w, all, style)
		})
	})
	cmd.AddCommand(rolloutResumeCommand(s))
	return cmd
}

func rolloutResumeCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume POLICY",
		Short: "Let the rollouts of a policy go on after failures",
		Long: "Sets annotation " + v1alpha1.AnnotationResumeRollout + " of a policy to the present time: failures until now no longer count.\n\n" +
			"POLICY is the name of a policy, or KIND/NAME.",
		Example: "  # Let the releases go on that wait for policy fleet\n" +
			"  kubectl pintle rollout resume fleet",
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.connect()
		if err != nil {
			return err
		}
		p, err := c.policy(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		before, _ := p.DeepCopyObject().(client.Object)
		annotations := map[string]string{v1alpha1.AnnotationResumeRollout: s.Now().UTC().Format(time.RFC3339)}
		for key, value := range p.GetAnnotations() {
			if _, set := annotations[key]; !set {
				annotations[key] = value
			}
		}
		p.SetAnnotations(annotations)
		if err := c.Patch(cmd.Context(), p, client.MergeFrom(before), fieldOwner); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Out, "%s/%s resumed\n", kindOfPolicy(p), p.GetName())
		return err
	}
	return cmd
}

func kindOfPolicy(p client.Object) string {
	if p.GetNamespace() == "" {
		return "clusterreleasepolicy." + v1alpha1.Group
	}
	return "releasepolicy." + v1alpha1.Group
}

// policy returns the policy with a rollout that NAME or KIND/NAME means.
func (c *connection) policy(ctx context.Context, arg string) (client.Object, error) {
	kind, name, has := strings.Cut(arg, "/")
	if !has {
		kind, name = "", arg
	}
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
	var asked []client.Object
	if kind == "" && c.namespace != "" || slices.Contains([]string{"releasepolicy", "releasepolicies", "rpol"}, kind) {
		asked = append(asked, &v1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}})
	}
	if kind == "" || slices.Contains([]string{"clusterreleasepolicy", "clusterreleasepolicies", "crpol"}, kind) {
		asked = append(asked, &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	if len(asked) == 0 {
		return nil, fmt.Errorf("%s is not a kind of policies: releasepolicy or clusterreleasepolicy", kind)
	}
	var found []client.Object
	var failed error
	for _, p := range asked {
		err := c.Get(ctx, client.ObjectKeyFromObject(p), p)
		switch {
		case err == nil:
			found = append(found, p)
		case failed == nil || !apierrors.IsNotFound(err):
			failed = err
		}
	}
	switch len(found) {
	case 0:
		return nil, failed
	case 1:
		if rolloutOf(found[0]) == nil {
			return nil, fmt.Errorf("policy %s has no rollout", name)
		}
		return found[0], nil
	}
	return nil, fmt.Errorf("there are two policies %s: releasepolicy/%s and clusterreleasepolicy/%s", name, name, name)
}

func rolloutOf(p client.Object) *v1alpha1.Rollout {
	switch p := p.(type) {
	case *v1alpha1.ReleasePolicy:
		return p.Spec.Rollout
	case *v1alpha1.ClusterReleasePolicy:
		return p.Spec.Rollout
	}
	return nil
}
