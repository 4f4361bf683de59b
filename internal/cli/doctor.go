// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view/doctor"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// warnUnlessRunning prints that no controller runs. What commands show may be out of date then.
func (s *Session) warnUnlessRunning(ctx context.Context, c *connection) {
	if !c.reader.Leads(ctx) {
		_, _ = fmt.Fprintln(s.ErrOut, "No controller runs, so this may be out of date: kubectl pintle doctor")
	}
}

func doctorCommand(s *Session) *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check CRDs, controllers and the rights of releases",
		Long: "Checks what no release shows: CRDs, controllers, their Leases and flags, and the rights of the ServiceAccounts that releases act as.\n\n" +
			"It only reads. All namespaces are checked, unless --namespace is set. The exit code is 1 if a check fails, or could not be made.",
		Example: "  # Check an installation, or a cluster with helm-controller before the migration\n" +
			"  kubectl pintle doctor\n\n" +
			"  # Check the rights that releases would need with config/default\n" +
			"  kubectl pintle doctor --default-service-account=helm-release",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&account, "default-service-account", "",
		"ServiceAccount of HelmReleases that name none, in place of that flag of the running controller.")
	return s.showCommand(cmd, func(ctx context.Context, c *connection, _ []string) error {
		options := read.DoctorOptions{Namespace: *s.flags.Namespace}
		if cmd.Flags().Changed("default-service-account") {
			options.DefaultServiceAccount = &account
		}
		report := doctor.Check(c.reader.Doctor(ctx, options))
		err := s.print(report, func(w io.Writer, style text.Style) error { return text.Doctor(w, report, style) })
		if err == nil && report.Failed+report.Unknown > 0 {
			return errFailed
		}
		return err
	})
}
