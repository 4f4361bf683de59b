// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/request"
)

// completeReleases completes names of HelmReleases. A completion has the kind that was typed before it.
func (s *Session) completeReleases(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	c, err := s.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := c.reader.Releases(cmd.Context(), c.namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	kind := prefix[:strings.LastIndex(prefix, "/")+1]
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, kind+list.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeOne completes the name of one HelmRelease.
func (s *Session) completeOne(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeReleases(cmd, args, prefix)
}

// completeWith returns a function that completes the name of a HelmRelease, and then what is known of it.
func (s *Session) completeWith(known func(ctx context.Context, c *connection, hr *helmv2.HelmRelease) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return s.completeReleases(cmd, args, prefix)
		}
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := s.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		hr, err := c.release(cmd.Context(), args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return known(cmd.Context(), c, hr), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// revisionsOf returns completions of the stored revisions of a release, the newest first.
func revisionsOf(ctx context.Context, c *connection, hr *helmv2.HelmRelease) []string {
	records, _ := c.reader.Revisions(ctx, hr)
	all := make([]string, 0, len(records))
	for _, r := range records {
		all = append(all, cobra.CompletionWithDesc(strconv.Itoa(r.Version), string(r.Status)))
	}
	return all
}

// hooksOf returns completions of the hooks of a release, and the events that hooks have.
func hooksOf(ctx context.Context, c *connection, hr *helmv2.HelmRelease) []string {
	hooks, _, _ := c.reader.Hooks(ctx, hr)
	all := make([]string, 0, len(hooks))
	for _, h := range hooks {
		all = append(all, cobra.CompletionWithDesc(h.Name, h.Kind+", "+h.Events))
	}
	for _, event := range request.HookEvents() {
		all = append(all, cobra.CompletionWithDesc(event, "all hooks of this event"))
	}
	return all
}

// completeRevision completes the value of a flag that is a revision of the release in the arguments.
func (s *Session) completeRevision(cmd *cobra.Command, flag string) {
	complete := s.completeWith(revisionsOf)
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	})
}
