// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"

	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/release"
)

// Options configure the waits of one action.
type Options struct {
	// Getter is the connection. Waits with the same connection share watches.
	Getter  genericclioptions.RESTClientGetter
	Watches *Watches
	// Legacy selects the readiness checks of Helm 3. Log is for them, and Clients also for reads of
	// StorageClasses.
	Legacy  bool
	Clients func() (*kubernetes.Clientset, error)
	Log     func(format string, args ...any)
	// Checks are the user's readiness checks for objects, HookChecks those for hooks.
	Checks, HookChecks *cel.ReadinessChecks
	// Idle, if set, is called when a wait is about to block. The function that it returns is called
	// before the wait returns, and may block.
	Idle func() (resume func())
	// Examiner, if set, finds the causes of failed waits.
	Examiner Examiner
	// Secrets returns the texts that no diagnosis may contain.
	Secrets func() []string
	// Namespace is the namespace of the release, for diagnoses.
	Namespace string
	// HookRole is the role of hooks in diagnoses.
	HookRole release.Role
	// Patient disables the early end of waits that cannot succeed.
	Patient bool
	Now     func() time.Time
}

// Examiner finds the cause why objects are not ready. It limits its own duration, and ends when
// ctx does.
type Examiner interface {
	// Examine returns nil if it finds no cause.
	Examine(ctx context.Context, q release.DiagnosisRequest) *release.Diagnosis
}
