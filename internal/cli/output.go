// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view"
)

// output is the value of the flag --output.
type output string

const (
	outputTable output = "table"
	outputWide  output = "wide"
	outputJSON  output = "json"
	outputYAML  output = "yaml"
	// outputMarkdown is of diff only.
	outputMarkdown output = "markdown"
)

func outputs() []string {
	return []string{string(outputTable), string(outputWide), string(outputJSON), string(outputYAML)}
}

// addOutput adds the flag --output to a command, with formats that only this command has.
func (s *Session) addOutput(cmd *cobra.Command, more ...string) {
	all := append(outputs(), more...)
	cmd.Flags().StringVarP((*string)(&s.out), "output", "o", string(outputTable), "Output format. One of: ("+strings.Join(all, ", ")+").")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
}

// showCommand completes a command that reads, and prints a view.
func (s *Session) showCommand(cmd *cobra.Command, show func(ctx context.Context, c *connection, args []string) error, formats ...string) *cobra.Command {
	s.addOutput(cmd, formats...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.out.check(formats...); err != nil {
			return err
		}
		c, err := s.connect()
		if err != nil {
			return err
		}
		return show(cmd.Context(), c, args)
	}
	return cmd
}

// showReleaseCommand completes one that shows the HelmRelease of its first argument.
func (s *Session) showReleaseCommand(cmd *cobra.Command, show func(ctx context.Context, c *connection, hr *helmv2.HelmRelease, args []string) error) *cobra.Command {
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = s.completeOne
	}
	return s.showCommand(cmd, func(ctx context.Context, c *connection, args []string) error {
		hr, err := c.release(ctx, args[0])
		if err != nil {
			return err
		}
		return show(ctx, c, hr, args)
	})
}

// noteOwner prints the object that a HelmRelease was made for to the standard error stream.
func (s *Session) noteOwner(hr *helmv2.HelmRelease) {
	if owner := view.OwnerOf(hr); owner != "" && s.out != outputJSON && s.out != outputYAML {
		_, _ = fmt.Fprintln(s.ErrOut, text.Belongs(hr.Namespace, hr.Name, owner))
	}
}

// check returns an error for an unknown format. more are formats that only this command has.
func (o output) check(more ...string) error {
	if all := append(outputs(), more...); !slices.Contains(all, string(o)) {
		return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s", string(o), strings.Join(all, ", "))
	}
	return nil
}

// style returns the style of texts.
func (s *Session) style() text.Style {
	return text.Style{Color: s.colors(), Wide: s.out == outputWide, Namespaces: s.all, Now: s.Now()}
}

// print prints a view as JSON or YAML, or with a function for tables.
func (s *Session) print(view any, table func(w io.Writer, style text.Style) error) error {
	switch s.out {
	case outputJSON:
		var raw bytes.Buffer
		encoder := json.NewEncoder(&raw)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(view); err != nil {
			return err
		}
		_, err := s.Out.Write(text.JSON(raw.Bytes()))
		return err
	case outputYAML:
		raw, err := text.YAML(view)
		if err != nil {
			return err
		}
		_, err = s.Out.Write(raw)
		return err
	case outputTable, outputWide, outputMarkdown:
	}
	return table(s.Out, s.style())
}
