// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// replicasNamespace is that of controllers without the proxy, and of their lease.
	replicasNamespace = "replicas"
	leaseName         = "helm-controller-leader-election"
	// logTail is the number of lines of a log in which a data race is looked for.
	logTail = 1 << 20
)

// election are the arguments of two controllers of which one leads. The periods are long enough for
// a machine with other work.
func election() []string {
	return []string{
		"--enable-leader-election", "--leader-election-lease-duration=15s", "--leader-election-renew-deadline=10s", "--leader-election-retry-period=2s",
	}
}

// replica starts a controller that reaches the API server without the proxy.
func (c *chaos) replica(ctx context.Context, name string, args ...string) (*harness.Controller, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: replicasNamespace}}
	if err := c.Env.Client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	k, err := c.Env.Replica(ctx, replicasNamespace, name, append([]string{"--graceful-shutdown-timeout=25s"}, args...)...)
	if err != nil {
		return nil, err
	}
	c.Logs = append(c.Logs, k.LogPath)
	return k, k.Start()
}

// with runs do while other controllers run instead of the one behind the proxy. Do starts them, and
// adds them to the running ones.
func (c *chaos) with(ctx context.Context, do func() error) error {
	proxied := c.controllers
	if err := c.Env.Controller.Stop(ctx); err != nil {
		return err
	}
	c.controllers = nil
	err := do()
	for _, k := range c.controllers {
		// It may be stopped by a signal, and it may have ended.
		_ = k.Signal(syscall.SIGCONT)
		_ = k.Stop(context.WithoutCancel(ctx))
		if strings.Contains(k.LogTail(logTail), "WARNING: DATA RACE") {
			err = errors.Join(err, errors.New("there is a data race in "+k.LogPath))
		}
	}
	c.controllers, c.revive = proxied, false
	if err != nil {
		return err
	}
	return c.Env.Controller.Start()
}

// alive returns an error if a controller ended by itself, unless it is to be started again then, as
// a Deployment does.
func (c *chaos) alive() error {
	for _, k := range c.controllers {
		err := k.Ended()
		if err == nil {
			continue
		}
		if !c.revive {
			return err
		}
		frame.Say("%v; it is started again", err)
		if err := k.Start(); err != nil {
			return err
		}
	}
	return nil
}

// leader returns the holder of the lease, which is not the given one, when there is one.
func (c *chaos) leader(ctx context.Context, before string) (holder string, err error) {
	err = wait.PollUntilContextTimeout(ctx, pollEvery, c.limits.step, true, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: replicasNamespace, Name: leaseName}
		if c.Env.Client.Get(ctx, key, lease) == nil && lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		return holder != "" && holder != before, nil
	})
	if err != nil {
		err = fmt.Errorf("no other controller than %q leads: %w", before, err)
	}
	return holder, err
}

// ended waits until a controller has ended by itself.
func (c *chaos) ended(ctx context.Context, k *harness.Controller) error {
	err := wait.PollUntilContextTimeout(ctx, pollEvery, c.limits.step, true, func(context.Context) (bool, error) { return k.Ended() != nil, nil })
	if err != nil {
		return fmt.Errorf("a controller that lost its lease does not end: %w", err)
	}
	return nil
}

// kill ends a controller by a signal and starts it again at once. It returns the time between.
func kill(ctx context.Context, k *harness.Controller, term bool) (window, error) {
	w := window{from: time.Now()}
	end := k.Kill
	if term {
		end = k.Stop
	}
	if err := end(ctx); err != nil {
		return w, err
	}
	err := k.Start()
	w.back = time.Now()
	return w, err
}
