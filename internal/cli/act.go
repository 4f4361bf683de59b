// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/request"
)

// fieldOwner is the field manager of all changes. kustomize-controller undoes changes by managers
// whose names start with kubectl, such as client-go's default for this executable.
const fieldOwner = client.FieldOwner("pintle-cli")

// defaultTimeout is the length of time that commands wait for the controller.
const defaultTimeout = 5 * time.Minute

// wait has the flags of commands that wait.
type wait struct {
	wait    bool
	timeout time.Duration
}

func (w *wait) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.wait, "wait", true, "If true, wait until the request was carried out, and end with exit code 1 if it fails.")
	cmd.Flags().DurationVar(&w.timeout, "timeout", defaultTimeout, "The length of time to wait before giving up. The request stays.")
}

// actCommand returns a command that changes one HelmRelease and waits.
func (s *Session) actCommand(cmd *cobra.Command, of func(hr *helmv2.HelmRelease, args []string) (request.Request, error)) *cobra.Command {
	var w wait
	w.add(cmd)
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = s.completeOne
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.connect()
		if err != nil {
			return err
		}
		hr, err := c.release(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		s.noteOwner(hr)
		r, err := of(hr.DeepCopy(), args)
		if err != nil {
			return err
		}
		changed := hr.DeepCopy()
		r.Apply(changed)
		// A merge patch of annotations cannot conflict, and may be repeated.
		if err := c.Patch(cmd.Context(), changed, client.MergeFrom(hr), fieldOwner); err != nil {
			return err
		}
		if !w.wait {
			_, err := fmt.Fprintf(s.Out, "helmrelease.%s/%s requested\n", helmv2.Group, hr.Name)
			return err
		}
		return s.await(cmd.Context(), w.timeout, func(ctx context.Context) (request.Progress, error) {
			hr, err := c.reader.Release(ctx, hr.Namespace, hr.Name)
			if err != nil {
				return request.Progress{}, err
			}
			return r.Progress(hr, s.Now()), nil
		})
	}
	return cmd
}

// pollInterval is the time between two reads while a command waits.
const pollInterval = time.Second

// await reads until something is done. It prints each new line of progress to the standard error
// stream, and the result to the standard output. A read that fails is repeated.
func (s *Session) await(ctx context.Context, timeout time.Duration, read func(ctx context.Context) (request.Progress, error)) error {
	// The client refuses requests shortly before a deadline, so reads are cancelled instead.
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(timeout, cancel).Stop()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last, unanswered := "", false
	for {
		p, err := read(limited)
		switch {
		case err != nil && limited.Err() != nil:
			p.Text = last
		case err != nil:
			p.Text = "not read, and repeated: " + err.Error()
		default:
			unanswered = p.Unanswered
		}
		switch {
		case p.Waits:
			_, _ = fmt.Fprintln(s.ErrOut, text.Clean(p.Text))
			return &codedError{errFailed, exitWaits}
		case p.Done && p.Failed:
			return fmt.Errorf("%s", text.Clean(p.Text))
		case p.Done && p.Text == "":
			return nil
		case p.Done:
			_, err := fmt.Fprintln(s.Out, text.Clean(p.Text))
			return err
		case p.Text != last:
			_, _ = fmt.Fprintln(s.ErrOut, text.Clean(p.Text))
			last = p.Text
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted; the request stays: %s", text.Clean(last))
			}
			if unanswered {
				none := fmt.Sprintf("No controller answered within %s. Is one running? kubectl pintle doctor", timeout)
				return errors.New(none)
			}
			return fmt.Errorf("timed out after %s; the request stays: %s", timeout, text.Clean(last))
		}
	}
}

func reconcileCommand(s *Session) *cobra.Command {
	var o request.ReconcileOptions
	cmd := &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Reconcile a release now",
		Long: "Requests a reconciliation, and waits until the release is ready, failing or stalled. If the release waits for something else, " +
			"such as an approval, a dependency, a source or the end of a freeze, the command ends at once with exit code 3 and the reason.",
		Example: "  # Try a stalled release again\n" +
			"  kubectl pintle reconcile web --reset\n\n" +
			"  # Upgrade although nothing has changed\n" +
			"  kubectl pintle reconcile web --force",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "Install or upgrade once, in any state.")
	cmd.Flags().BoolVar(&o.Reset, "reset", false, "Reset the failure counters, so that a stalled release is tried again.")
	return s.actCommand(cmd, func(hr *helmv2.HelmRelease, _ []string) (request.Request, error) {
		r, err := request.Reconcile(hr, o, s.Now())
		if err != nil {
			err = &codedError{err, exitWaits}
		}
		return r, err
	})
}

func suspendCommand(s *Session) *cobra.Command {
	reason, until, spec := "", "", false
	cmd := &cobra.Command{
		Use:   "suspend NAME",
		Short: "Suspend a release: nothing is installed, upgraded or corrected",
		Long: "Suspends a HelmRelease by the annotation pintle.dev/suspend, which an applier of manifests does not revert. " +
			"A running action ends. flux resume does not end it, and requests by flux reconcile stay unhandled meanwhile: " +
			"kubectl pintle resume ends it.\n\nhelm-controller ignores the annotation: --spec sets spec.suspend instead.",
		Example: "  # Suspend a release for two hours\n" +
			"  kubectl pintle suspend web --reason 'database maintenance' --until 2h",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&reason, "reason", "by kubectl pintle", "Why the release is suspended, for other users.")
	cmd.Flags().StringVar(&until, "until", "", "When the suspension ends: a time in RFC 3339, or a duration such as 2h. Empty means never.")
	cmd.Flags().BoolVar(&spec, "spec", false, "Set spec.suspend instead of the annotation.")
	cmd.MarkFlagsMutuallyExclusive("until", "spec")
	cmd.MarkFlagsMutuallyExclusive("reason", "spec")
	return s.actCommand(cmd, func(*helmv2.HelmRelease, []string) (request.Request, error) {
		end, err := s.timeOf(until)
		return request.Suspend(reason, end, spec), err
	})
}

func resumeCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "Resume a suspended release, and reconcile it",
		Long: "Removes the annotations of a suspension, and sets spec.suspend to false if it is true. " +
			"If a manifest in Git sets spec.suspend, change it there too.",
		Args: cobra.ExactArgs(1),
	}
	return s.actCommand(cmd, func(hr *helmv2.HelmRelease, _ []string) (request.Request, error) {
		return request.Resume(hr, s.Now()), nil
	})
}

func rollbackCommand(s *Session) *cobra.Command {
	until, reason, yes := "", "", false
	cmd := &cobra.Command{
		Use:   "rollback NAME REVISION",
		Short: "Roll a release back to a revision, and hold it there",
		Long: "Rolls a release back to a stored revision, and holds it there: changes of the spec have no effect until the hold is " +
			"removed, or its time is over.\n\n" +
			"Shows what the rollback would change, with the rights of the user: it reads Helm's records and sends dry runs. If data may " +
			"be lost, or if that cannot be shown, --yes is required. Objects that a policy protects are kept.",
		Example: "  # Go back to revision 3 until the revert has arrived\n" +
			"  kubectl pintle rollback web 3 --until 2h --reason 'incident 42'\n\n" +
			"  # Follow the spec again\n" +
			"  kubectl pintle unhold web",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: s.completeWith(revisionsOf),
	}
	cmd.Flags().StringVar(&until, "until", "", "When the hold ends: a time in RFC 3339, or a duration such as 2h. Empty means never.")
	cmd.Flags().StringVar(&reason, "reason", "", "Why the release is held, for other users.")
	cmd.Flags().BoolVar(&yes, "yes", false, "Roll back even if data may be lost, or if what the rollback would change cannot be shown.")
	revision := 0
	s.actCommand(cmd, func(*helmv2.HelmRelease, []string) (request.Request, error) {
		end, err := s.timeOf(until)
		return request.Rollback(revision, end, reason, s.Now()), err
	})
	act := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if revision, err = strconv.Atoi(args[1]); err != nil || revision < 1 {
			return fmt.Errorf("%q is no number of a revision: see kubectl pintle history %s", args[1], args[0])
		}
		if err := s.confirmRollback(cmd.Context(), args[0], revision, yes); err != nil {
			return err
		}
		return act(cmd, args)
	}
	return cmd
}

func unholdCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unhold NAME",
		Short: "Remove the hold of a rollback, and reconcile the release",
		Long:  "Removes the annotations of a hold. The release follows its spec again: correct the spec first.",
		Args:  cobra.ExactArgs(1),
	}
	return s.actCommand(cmd, func(*helmv2.HelmRelease, []string) (request.Request, error) {
		return request.Unhold(s.Now()), nil
	})
}

// confirmRollback shows what a rollback would change. It returns an error if the revision is not stored,
// and, without the consent of the user, if data may be lost or the changes cannot be shown.
func (s *Session) confirmRollback(ctx context.Context, name string, revision int, yes bool) error {
	c, err := s.connect()
	if err != nil {
		return err
	}
	hr, err := c.release(ctx, name)
	if err != nil {
		return err
	}
	stored, err := c.reader.IsStored(ctx, hr, revision)
	if err == nil && !stored {
		return c.noRevision(ctx, hr, revision)
	}
	var found view.Diff
	if err == nil {
		found, err = s.rollbackDiff(ctx, c, hr, revision)
	}
	switch lost := found.Destroyed(); {
	case err != nil && yes:
		_, err = fmt.Fprintf(s.ErrOut, "what the rollback changes cannot be shown: %s\n", text.Clean(err.Error()))
		return err
	case err != nil:
		return fmt.Errorf("what the rollback would change cannot be shown, and nothing was requested: %w; --yes requests it nevertheless", err)
	case len(lost) > 0 && !yes:
		return fmt.Errorf("the rollback would delete %s, and nothing was requested; --yes requests it", strings.Join(lost, ", "))
	}
	return nil
}

// noRevision returns the error for a revision that does not exist. It lists the revisions that do.
func (c *connection) noRevision(ctx context.Context, hr *helmv2.HelmRelease, revision int) error {
	exist := fmt.Sprintf("see kubectl pintle history %s -n %s", hr.Name, hr.Namespace)
	if records, err := c.reader.Revisions(ctx, hr); err == nil && len(records) > 0 {
		all := make([]string, 0, len(records))
		for _, r := range records {
			all = append(all, fmt.Sprintf("%d (%s)", r.Version, r.Status))
		}
		exist = "there are " + strings.Join(all, ", ")
	}
	return fmt.Errorf("revision %d of %s/%s does not exist, and nothing was requested: %s", revision, hr.Namespace, hr.Name, exist)
}

// rollbackDiff returns and prints what a rollback would change.
func (s *Session) rollbackDiff(ctx context.Context, c *connection, hr *helmv2.HelmRelease, revision int) (view.Diff, error) {
	d := &diffing{Session: s}
	q := diff.Query{Reader: c, Release: hr}
	_, stop, err := d.connectDiffer(c, &q)
	if err != nil {
		return view.Diff{}, err
	}
	defer stop()
	found, err := d.differ.Rollback(ctx, q, revision)
	if err != nil {
		return found, err
	}
	return found, text.Diff(s.ErrOut, found, text.Style{})
}

func testCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Run the tests of the chart on the newest revision",
		Long:  "Runs the tests of the chart once, with the filters and the timeout of spec.test. No revision is made, and a failure is not remediated.",
		Args:  cobra.ExactArgs(1),
	}
	return s.actCommand(cmd, func(hr *helmv2.HelmRelease, _ []string) (request.Request, error) {
		return request.Test(hr, s.Now()), nil
	})
}

// timeOf parses the end of a suspension or a hold; zero for an empty text.
func (s *Session) timeOf(value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return s.Now().Add(d), nil
	}
	end, err := time.Parse(time.RFC3339, value)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("--until is %q, which is neither a time such as 2026-01-02T15:00:00Z nor a duration such as 2h", value)
	case !end.After(s.Now()):
		return time.Time{}, fmt.Errorf("--until is %q, which is over", value)
	}
	return end, nil
}
