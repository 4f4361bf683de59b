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

func getCommand(s *Session) *cobra.Command {
	var watch bool
	var flags listFlags
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
	s.addListFlags(cmd, &flags)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "After listing/getting the requested object, watch for changes.")
	cmd.Flags().StringSliceVar(&states, "state", nil, "States to list, separated by commas.")
	return s.showCommand(cmd, func(ctx context.Context, c *connection, args []string) error {
		wanted, err := parseStates(states)
		if err != nil {
			return err
		}
		labelled, err := flags.labels()
		if err != nil {
			return err
		}
		switch {
		case watch && (s.out == outputJSON || s.out == outputYAML):
			return errors.New("--watch needs the output table or wide")
		case watch && (flags.selector != "" || len(wanted) > 0):
			return errors.New("--watch cannot be used with --selector or --state")
		case len(args) > 0 && flags.selector != "":
			return errors.New("NAME cannot be used with --selector")
		}
		names := make([]string, len(args))
		for i, arg := range args {
			if names[i], err = releaseName(arg); err != nil {
				return err
			}
		}
		list, err := c.reader.Releases(ctx, c.namespace)
		if err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(hr helmv2.HelmRelease) bool { return !labelled.Matches(labels.Set(hr.Labels)) })
		all, err := c.withNames(ctx, view.Releases(list.Items, s.Now()), args)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(r view.Release) bool { return len(wanted) > 0 && !slices.Contains(wanted, r.State) })
		style := s.listStyle(flags)
		style.Owners = slices.ContainsFunc(all, func(r view.Release) bool { return r.Owner != "" })
		rows := text.NewReleases(style)
		if len(all) > 0 || watch {
			err = s.print(items[view.Release]{all}, func(w io.Writer, _ text.Style) error { return rows.Print(w, all...) })
		} else {
			err = printNone[view.Release](s, c, "HelmReleases")
		}
		if err != nil {
			return err
		}
		s.warnUnlessRunning(ctx, c)
		if !watch {
			return nil
		}
		return s.watch(ctx, c, list, names, rows)
	})
}

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

// withNames returns the views that arguments name, all without arguments.
func (c *connection) withNames(ctx context.Context, all []view.Release, args []string) ([]view.Release, error) {
	if len(args) == 0 {
		return all, nil
	}
	var some []view.Release
	found := map[string]bool{}
	for _, r := range all {
		for _, arg := range args {
			if name, _ := releaseName(arg); r.Name == name && (!isHelmChart(arg) || r.Owner == ownerName(name)) {
				some, found[arg] = append(some, r), true
			}
		}
	}
	for _, arg := range args {
		if !found[arg] {
			return nil, c.missingRelease(ctx, arg)
		}
	}
	return some, nil
}
