// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/inputs"
)

func valuesCommand(s *Session) *cobra.Command {
	provenance := false
	cmd := &cobra.Command{
		Use:   "values NAME",
		Short: "Show the values of a release, and where each comes from",
		Long: "Shows the values of a HelmRelease as the controller composes them from spec.values and spec.valuesFrom now, " +
			"without the defaults of the chart. Values that come from Secrets are masked.",
		Example: "  # Show the values as YAML\n" +
			"  kubectl pintle values web\n\n" +
			"  # Show which object sets each key\n" +
			"  kubectl pintle values web --provenance",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&provenance, "provenance", false, "List each key with the object that sets it.")
	return s.showReleaseCommand(cmd, func(ctx context.Context, c *connection, hr *helmv2.HelmRelease, _ []string) error {
		s.noteOwner(hr)
		stop, err := s.readFiles(c, hr)
		if err != nil {
			return err
		}
		defer stop()
		v, err := c.reader.Values(ctx, hr)
		if err != nil {
			return err
		}
		return s.print(v, func(w io.Writer, style text.Style) error { return text.Values(w, v, provenance, style) })
	})
}

// readFiles lets the values of a release have files of sources, if they come from some.
func (s *Session) readFiles(c *connection, hr *helmv2.HelmRelease) (stop func(), err error) {
	if s.client != nil || !inputs.HasFiles(hr) {
		return func() {}, nil
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	downloads, _, stop := s.downloads(c, config, nil)
	c.reader.Resolver = func(reader client.Reader) *inputs.Resolver {
		return inputs.NewResolver(reader, reader, downloads).WithSettings(diff.Defaults()).WithDownloads(c, s.Now)
	}
	return stop, nil
}
