// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/cli/text"
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeOne,
	}
	cmd.Flags().BoolVar(&provenance, "provenance", false, "List each key with the object that sets it.")
	s.addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.out.check(); err != nil {
			return err
		}
		c, err := s.connect()
		if err != nil {
			return err
		}
		hr, err := c.reader.Release(cmd.Context(), c.namespace, args[0])
		if err != nil {
			return err
		}
		v, err := c.reader.Values(cmd.Context(), hr)
		if err != nil {
			return err
		}
		return s.print(v, func(w io.Writer, style text.Style) error { return text.Values(w, v, provenance, style) })
	}
	return cmd
}
