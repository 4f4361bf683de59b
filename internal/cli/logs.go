// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/diagnosis"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// maxLine is the maximum length of a line of a log.
const maxLine = 1 << 20

// logs prints the logs of the Pods of one Operation while they run. Lines have no values of the
// Secrets that the Pods or the release use. If one of these Secrets cannot be read, nothing is
// printed.
type logs struct {
	*Session
	ctx   context.Context //nolint:containedctx // logs are read beside the reads of the Operation
	stop  context.CancelFunc
	c     *connection
	hr    *helmv2.HelmRelease
	group sync.WaitGroup
	// mu guards the output, printed and notes.
	mu      sync.Mutex
	printed bool
	// notes are reasons why logs are not shown. The goroutine of the command prints them.
	notes []string
	// started are the containers whose logs are read.
	started map[string]bool
}

func (s *Session) newLogs(ctx context.Context, c *connection, hr *helmv2.HelmRelease) *logs {
	ctx, stop := context.WithCancel(ctx)
	return &logs{Session: s, ctx: ctx, stop: stop, c: c, hr: hr, started: map[string]bool{}}
}

// follow starts to print the logs of containers that have started. Pods that cannot be read are left
// out: the stored end of their logs follows.
func (l *logs) follow(op *opsv1alpha1.Operation) {
	l.printNotes()
	pods := &corev1.PodList{}
	if l.c.logs == nil || l.c.List(l.ctx, pods, client.InNamespace(op.Namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}) != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			key := pod.Name + "/" + c.Name
			if l.started[key] || c.State.Running == nil && c.State.Terminated == nil {
				continue
			}
			l.started[key] = true
			l.group.Go(func() { l.print(pod, c.Name) })
		}
	}
}

// print prints the log of a container until it ends.
func (l *logs) print(pod *corev1.Pod, container string) {
	secrets, err := l.secretsOf(pod)
	if err != nil {
		l.note("the log of %s is not shown while it runs, because its Secrets cannot be read: %v", pod.Name, err)
		return
	}
	stream, err := l.c.logs(l.ctx, pod.Namespace, pod.Name, &corev1.PodLogOptions{Container: container, Follow: true})
	if err != nil {
		l.note("the log of %s cannot be read: %v", pod.Name, err)
		return
	}
	defer func() { _ = stream.Close() }()
	redactor := redaction.New(secrets)
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		l.mu.Lock()
		l.printed = true
		_, _ = fmt.Fprintf(l.Out, "%s: %s\n", text.Clean(container), text.Clean(redactor.Text(lines.Text())))
		l.mu.Unlock()
	}
}

func (l *logs) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// printNotes prints new notes.
func (l *logs) printNotes() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, note := range l.notes {
		_, _ = fmt.Fprintln(l.ErrOut, text.Clean(note))
	}
	l.notes = nil
}

// secretsOf returns the values of the Secrets that a Pod and the release use.
func (l *logs) secretsOf(pod *corev1.Pod) ([]string, error) {
	values, err := l.c.reader.Secrets(l.ctx, l.hr)
	if err != nil {
		return nil, err
	}
	for _, name := range diagnosis.SecretNames(pod.Spec) {
		secret := &corev1.Secret{}
		err := l.c.Get(l.ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, secret)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		for _, value := range secret.Data {
			values = append(values, string(value))
		}
	}
	return values, nil
}

// wait waits until all logs have ended, and reports whether there was any line.
func (l *logs) wait(patience time.Duration) bool {
	timer := time.AfterFunc(patience, l.stop)
	l.group.Wait()
	timer.Stop()
	l.stop()
	l.printNotes()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.printed
}

func linesOf(log string) []string {
	if log = strings.TrimRight(log, "\n"); log == "" {
		return nil
	}
	return strings.Split(log, "\n")
}
