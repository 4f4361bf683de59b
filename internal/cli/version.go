// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/version"
)

func versionCommand(s *Session) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this command",
		Long:  "Prints the version of kubectl-pintle. 'kubectl pintle doctor' shows the versions of the controllers.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.Out, version.Read())
			return err
		},
	}
}
