// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

// releaseList is the output of get as JSON and YAML.
type releaseList struct {
	Items []view.Release `json:"items"`
}

func getCommand(s *Session) *cobra.Command {
	watch := false
	cmd := &cobra.Command{
		Use:   "get [NAME...]",
		Short: "List releases, those that need attention first",
		Long: "Lists HelmReleases with their state, chart, revision and drift, and what they wait for.\n\n" +
			"STATE is Stalled, Failing, Waiting, Held, Deleting, Progressing, Suspended or Ready. Rows are in this order.",
		Example: "  # List the releases of all namespaces\n" +
			"  kubectl pintle get -A\n\n" +
			"  # Watch one release\n" +
			"  kubectl pintle get web --watch\n\n" +
			"  # List what is not ready\n" +
			"  kubectl pintle get -A -o json | jq '.items[] | select(.state != \"Ready\")'",
		ValidArgsFunction: s.completeReleases,
	}
	s.addAllNamespaces(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "After listing/getting the requested object, watch for changes.")
	return s.showCommand(cmd, func(ctx context.Context, c *connection, names []string) error {
		list, err := c.reader.Releases(ctx, c.namespace)
		if err != nil {
			return err
		}
		all, err := withNames(view.Releases(list.Items, s.Now()), names)
		if err != nil {
			return err
		}
		rows := text.NewReleases(s.style())
		switch {
		case watch && (s.out == outputJSON || s.out == outputYAML):
			return fmt.Errorf("--watch needs the output table or wide")
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
