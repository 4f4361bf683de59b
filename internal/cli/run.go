// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/view/request"
)

// logPatience is how long a log may last after its Operation has ended.
const logPatience = 5 * time.Second

// Values of --from.
const (
	fromInstalled = "installed"
	fromNext      = "next"
)

func runCommand(s *Session) *cobra.Command {
	var w wait
	var ttl time.Duration
	kind, follow := "", true
	from, skip := fromInstalled, false
	cmd := &cobra.Command{
		Use:   "run NAME HOOK",
		Short: "Run a hook of the chart as an Operation, with its logs",
		Long: "Creates an Operation that runs one hook of the release, by its name, or all hooks of an event such as test or pre-upgrade.\n\n" +
			"The logs of its Pods are printed without values of Secrets. If the Operation fails, the exit code is the one of the container that failed, or 1. " +
			"Ctrl-C ends the command, and not the Operation.",
		Example: "  # Run the hook web-migrate\n" +
			"  kubectl pintle run web web-migrate\n\n" +
			"  # Run the migration of the next version while this one serves, and let the upgrade leave it out\n" +
			"  kubectl pintle run web web-migrate --from=next --skip-in-upgrade\n\n" +
			"  # Run all hooks of an event\n" +
			"  kubectl pintle run web pre-upgrade\n\n" +
			"  # Run the tests of the chart, and delete the Operation after a day\n" +
			"  kubectl pintle run web test --ttl 24h",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: s.completeWith(hooksOf),
	}
	w.add(cmd)
	cmd.Flags().StringVar(&kind, "type", string(opsv1alpha1.TypeRunCommand), "Type of the Operation, for users and dashboards.")
	cmd.Flags().StringVar(&from, "from", fromInstalled, "Version of the hook: installed, or next for a pre-upgrade hook of the next upgrade.")
	cmd.Flags().BoolVar(&skip, "skip-in-upgrade", false, "If true, the next upgrade leaves out the hook if the Operation succeeds. Only with --from=next.")
	cmd.Flags().BoolVar(&follow, "logs", true, "If true, print the logs of the Pods while they run. Only with --wait.")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "Delete the Operation this long after it has ended. Without the flag, it is kept.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.connect()
		if err != nil {
			return err
		}
		hr, err := c.release(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if from != fromInstalled && from != fromNext {
			return fmt.Errorf("--from %s is neither %s nor %s", from, fromInstalled, fromNext)
		}
		if skip && from != fromNext {
			return errors.New("--skip-in-upgrade needs --from=next")
		}
		op := request.Hook(hr.Namespace, hr.Name, args[1], s.Now())
		op.Spec.Type = opsv1alpha1.OperationType(kind)
		if from == fromNext {
			op.Spec.Parameters = &opsv1alpha1.Parameters{HookName: args[1], From: opsv1alpha1.FromNext, SkipInUpgrade: skip}
		}
		if skip {
			if op.Spec.Parameters.SkipApprovedBy, err = c.user(cmd.Context()); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("ttl") {
			if ttl < 0 || ttl.Seconds() > math.MaxInt32 {
				return fmt.Errorf("--ttl %s is not between 0 and %d seconds", ttl, math.MaxInt32)
			}
			op.Spec.TTLSecondsAfterFinished = new(int32(ttl.Seconds()))
		}
		if err := c.Create(cmd.Context(), op, fieldOwner); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.ErrOut, "operation.%s/%s created\n", opsv1alpha1.Group, op.Name); err != nil || !w.wait {
			return err
		}
		logs := s.newLogs(cmd.Context(), c, hr)
		code := 0
		err = s.await(cmd.Context(), w.timeout, func(ctx context.Context) (request.Progress, error) {
			now := &opsv1alpha1.Operation{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(op), now); err != nil {
				return request.Progress{}, err
			}
			p := request.OperationProgress(now)
			code = p.ExitCode
			if !follow {
				return p, nil
			}
			logs.follow(now)
			if p.Done && !logs.wait(logPatience) {
				s.printTail(now)
			}
			return p, nil
		})
		if err != nil && code != 0 {
			return &codedError{err, code}
		}
		return err
	}
	return cmd
}

// printTail prints the ends of logs that the controller has stored.
func (s *Session) printTail(op *opsv1alpha1.Operation) {
	if op.Status.Outputs == nil {
		return
	}
	for _, l := range op.Status.Outputs.LogTail {
		for _, line := range linesOf(l.Text) {
			_, _ = fmt.Fprintf(s.Out, "%s: %s\n", text.Clean(l.Container), text.Clean(line))
		}
	}
}
