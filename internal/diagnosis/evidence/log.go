// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	logLines = 200
	logBytes = 256 << 10
)

// Opener opens the log of a container.
type Opener func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)

// ErrNoLog is returned if a container has no log, or none yet.
var ErrNoLog = errors.New("the kubelet has no log of the container")

// ReadLog returns the end of a container's log. It returns more than is shown, since secrets are
// redacted before the log is cut. The log of the previous run is returned if the container has not
// been restarted yet, or has logged nothing since.
func ReadLog(ctx context.Context, open Opener, pod *corev1.Pod, c corev1.ContainerStatus) (string, error) {
	before := c.LastTerminationState.Terminated != nil
	if before && c.State.Waiting != nil {
		return readLog(ctx, open, pod, c.Name, true)
	}
	text, err := readLog(ctx, open, pod, c.Name, false)
	if before && (errors.Is(err, ErrNoLog) || err == nil && text == "") {
		return readLog(ctx, open, pod, c.Name, true)
	}
	return text, err
}

func readLog(ctx context.Context, open Opener, pod *corev1.Pod, container string, previous bool) (string, error) {
	lines := int64(logLines)
	stream, err := open(ctx, pod.Namespace, pod.Name, &corev1.PodLogOptions{Container: container, TailLines: &lines, Previous: previous})
	if err != nil {
		return "", err
	}
	var kept tail
	_, err = io.Copy(&kept, stream)
	if closing := stream.Close(); err == nil {
		err = closing
	}
	if err == nil && missing(string(kept.bytes)) {
		err = ErrNoLog
	}
	return string(kept.bytes), err
}

// missing reports whether a text is not a log, but the error of a kubelet about a missing log. The
// kubelet finds the error only after it has sent the HTTP status.
func missing(text string) bool {
	for _, words := range []string{"failed to try resolving symlinks in path ", "failed to open log file ", "unable to retrieve container logs for "} {
		if strings.HasPrefix(text, words) && !strings.Contains(strings.TrimSpace(text), "\n") {
			return true
		}
	}
	return false
}

// tail keeps the last logBytes of the written data. If data was cut, the rest of the first line is
// dropped too, since it may end with a part of a secret.
type tail struct{ bytes []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p...)
	if over := len(t.bytes) - logBytes; over > 0 {
		t.bytes = slices.Delete(t.bytes, 0, over)
		if i := slices.Index(t.bytes, '\n'); i >= 0 {
			t.bytes = slices.Delete(t.bytes, 0, i+1)
		} else {
			t.bytes = t.bytes[:0]
		}
	}
	return len(p), nil
}
