// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

// releaseList is the output of get as JSON and YAML.
type releaseList struct {
	Items []view.Release `json:"items"`
}

func getCommand(s *Session) *cobra.Command {
	var watch, noHeaders bool
	var selector string
	var states []string
	cmd := &cobra.Command{
		Use:   "get [NAME...]",
		Short: "List releases, those that need attention first",
		Long: "Lists HelmReleases with their state, chart, revision and drift, and what they wait for.\n\n" +
			"STATE is Stalled, Failing, Rejected, Waiting, Held, Deleting, Progressing, Suspended or Ready. Rows are in this order.",
		Example: "  # List the releases of all namespaces\n" +
			"  kubectl pintle get -A\n\n" +
			"  # Watch one release\n" +
			"  kubectl pintle get web --watch\n\n" +
			"  # List what is stalled or failing\n" +
			"  kubectl pintle get -A --state Stalled,Failing",
		ValidArgsFunction: s.completeReleases,
	}
	s.addAllNamespaces(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "After listing/getting the requested object, watch for changes.")
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "Print no header.")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "Label selector of HelmReleases, such as team=shop.")
	cmd.Flags().StringSliceVar(&states, "state", nil, "States to list, separated by commas.")
	return s.showCommand(cmd, func(ctx context.Context, c *connection, names []string) error {
		wanted, err := parseStates(states)
		if err != nil {
			return err
		}
		labelled, err := labels.Parse(selector)
		if err != nil {
			return fmt.Errorf("--selector: %w", err)
		}
		switch {
		case watch && (s.out == outputJSON || s.out == outputYAML):
			return errors.New("--watch needs the output table or wide")
		case watch && (selector != "" || len(wanted) > 0):
			return errors.New("--watch cannot be used with --selector or --state")
		}
		list, err := c.reader.Releases(ctx, c.namespace)
		if err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(hr helmv2.HelmRelease) bool { return !labelled.Matches(labels.Set(hr.Labels)) })
		all, err := withNames(view.Releases(list.Items, s.Now()), names)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(r view.Release) bool { return len(wanted) > 0 && !slices.Contains(wanted, r.State) })
		style := s.style()
		style.NoHeaders = noHeaders
		rows := text.NewReleases(style)
		switch {
		case len(all) == 0 && !watch:
			return s.none(c.namespace)
		}
		err = s.print(releaseList{all}, func(w io.Writer, _ text.Style) error { return rows.Print(w, all...) })
		if err != nil || !watch {
			return err
		}
		return s.watch(ctx, c, list, names, rows)
	})
}

// parseStates returns states by their names, which may be in lower case.
func parseStates(names []string) ([]view.State, error) {
	var all []view.State
	for _, name := range names {
		i := slices.IndexFunc(view.States(), func(s view.State) bool { return strings.EqualFold(string(s), name) })
		if i < 0 {
			return nil, fmt.Errorf("--state: there is no state %q: the states are %s", name, strings.Trim(fmt.Sprint(view.States()), "[]"))
		}
		all = append(all, view.States()[i])
	}
	return all, nil
}

// none prints that there are no releases, as kubectl does.
func (s *Session) none(namespace string) error {
	if s.out == outputJSON || s.out == outputYAML {
		return s.print(releaseList{[]view.Release{}}, nil)
	}
	where := ""
	if namespace != "" {
		where = fmt.Sprintf(" in %s namespace", namespace)
	}
	_, err := fmt.Fprintf(s.ErrOut, "No HelmReleases found%s.\n", where)
	return err
}

// withNames returns the views with some names, all without names.
func withNames(all []view.Release, names []string) ([]view.Release, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []view.Release
	found := map[string]bool{}
	for _, r := range all {
		for _, name := range names {
			if r.Name == name {
				some, found[name] = append(some, r), true
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("helmreleases.%s %q not found", helmv2.Group, name)
		}
	}
	return some, nil
}

// completeReleases returns the names of HelmReleases for the shell.
func (s *Session) completeReleases(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.releaseNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

// releaseNames returns the names of HelmReleases; none if they cannot be read.
func (s *Session) releaseNames(ctx context.Context) []string {
	c, err := s.connect()
	if err != nil {
		return nil
	}
	list, err := c.reader.Releases(ctx, c.namespace)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}
