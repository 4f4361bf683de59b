// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/cli/text"
)

// errFailed ends the command with exit code 1. What failed has been printed.
var errFailed = errors.New("failed")

// exitWaits is the exit code of a request to a release that waits for something else.
const exitWaits = 3

// Command returns the command kubectl-pintle.
func Command(s *Session) *cobra.Command {
	s.flags = genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		// The API server limits clients by itself. These are the values of kubectl.
		c.QPS, c.Burst = 50, 300
		c.WarningHandler = cleanWarnings{rest.NewWarningWriter(s.ErrOut, rest.WarningWriterOptions{Deduplicate: true})}
		return c
	})
	root := &cobra.Command{
		Use:   "kubectl-pintle",
		Short: "Show and control releases of Helm charts",
		Long: "Shows what HelmReleases are in which state, why, and what happens next.\n\n" +
			"Everything is read and changed as the user of the kubeconfig. What that user may not read is left out, and named.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl pintle"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	s.flags.AddFlags(root.PersistentFlags())
	root.SetOut(s.Out)
	root.SetErr(s.ErrOut)
	root.SetIn(s.In)
	root.AddCommand(
		getCommand(s), whyCommand(s), reconcileCommand(s), suspendCommand(s), resumeCommand(s), rollbackCommand(s), unholdCommand(s), testCommand(s),
		hooksCommand(s), runCommand(s), historyCommand(s), diffCommand(s), valuesCommand(s), treeCommand(s),
		createCommand(s), operationsCommand(s), plansCommand(s), policiesCommand(s), rolloutCommand(s),
		planCommand(s), approveCommand(s), rejectCommand(s), overrideCommand(s), doctorCommand(s), versionCommand(s),
	)
	return root
}

// cleanWarnings removes characters that control a terminal from warnings of API servers, which admission
// webhooks write.
type cleanWarnings struct{ rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (c cleanWarnings) HandleWarningHeader(code int, agent, message string) {
	c.WarningHandler.HandleWarningHeader(code, agent, text.Clean(message))
}

// Report prints an error of Command, as kubectl does, and returns the exit code.
func (s *Session) Report(err error) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, errFailed) {
		_, _ = fmt.Fprintf(s.ErrOut, "error: %s\n", text.Clean(err.Error()))
	}
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	return 1
}

// codedError is an error with an exit code of its own.
type codedError struct {
	error

	code int
}

// Unwrap returns the error.
func (e *codedError) Unwrap() error { return e.error }

// addAllNamespaces adds the flag --all-namespaces to a command.
func (s *Session) addAllNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "If present, list the requested object(s) across all namespaces.")
}
