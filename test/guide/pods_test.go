// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/harness"
)

const (
	reference = "ghcr.io/fluxcd/helm-controller"
	ours      = "registry.example.com/pintle"
	// eventsAddr is the address in Flux's Deployment, which only a cluster with DNS resolves.
	eventsAddr = "http://notification-controller.flux-system.svc.cluster.local./"
)

// node runs the containers of controllers as processes. kwok simulates everything else of their
// Pods. A process runs from the moment when its Pod has a node until the Pod is deleted.
type node struct {
	*testing.T

	// receiver is the URL in place of that of notification-controller.
	receiver string
	cancel   context.CancelFunc
	done     chan struct{}

	mu      sync.Mutex
	running map[types.UID]*container
	failure error
}

// container is the process of a Pod.
type container struct {
	*harness.Controller

	namespace, pod, image string
	// release ends the leader election that precedes the process, if there is one.
	release func()
}

// startNode starts a node that ends with the test.
func startNode(t *testing.T, receiver string) *node {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	n := &node{T: t, receiver: receiver, cancel: cancel, done: make(chan struct{}), running: map[types.UID]*container{}}
	go func() {
		defer close(n.done)
		for ctx.Err() == nil {
			if err := n.follow(ctx); err != nil && ctx.Err() == nil {
				n.fail(err)
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-n.done
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range n.running {
			n.failure = errors.Join(n.failure, c.stop())
		}
		if n.failure != nil {
			t.Error(n.failure)
		}
	})
	return n
}

func (n *node) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure = errors.Join(n.failure, err)
}

// follow calls sync now and for each change of a Pod, until the watch ends.
func (n *node) follow(ctx context.Context) error {
	changes, err := env.Client.Watch(ctx, &corev1.PodList{})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for err = n.sync(ctx); err == nil; err = n.sync(ctx) {
		if _, open := <-changes.ResultChan(); !open {
			return nil
		}
	}
	return err
}

// sync starts and ends processes once.
func (n *node) sync(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := env.Client.List(ctx, pods); err != nil {
		return err
	}
	live := map[types.UID]bool{}
	for _, pod := range pods.Items {
		path := executable(pod.Spec.Containers[0].Image)
		if path == "" || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
			continue
		}
		live[pod.UID] = true
		if n.has(pod.UID) {
			continue
		}
		c, err := n.start(ctx, path, &pod)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.running[pod.UID] = c
		n.mu.Unlock()
	}
	return n.stopOthers(live)
}

func (n *node) has(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running[uid] != nil
}

func (n *node) stopOthers(live map[types.UID]bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for uid, c := range n.running {
		if !live[uid] {
			delete(n.running, uid)
			errs = append(errs, c.stop())
		}
	}
	return errors.Join(errs...)
}

// executable returns the path of the executable in an image, or nothing if the image is not that of
// a controller.
func executable(image string) string {
	switch name, _, _ := strings.Cut(strings.TrimPrefix(image, "docker.io/"), ":"); name {
	case reference:
		return os.Getenv("PINTLE_REFERENCE")
	case ours:
		return os.Getenv("PINTLE_CONTROLLER")
	}
	if image, _, _ := strings.Cut(image, "."); image == "registry" {
		return os.Getenv("PINTLE_CONTROLLER")
	}
	return ""
}

// start starts the process of a Pod with the arguments, the environment and the ServiceAccount of
// the Pod.
func (n *node) start(ctx context.Context, path string, pod *corev1.Pod) (*container, error) {
	kubeconfig, err := kubeconfig(ctx, pod)
	if err != nil {
		return nil, err
	}
	spec := pod.Spec.Containers[0]
	// The Go runtime and the system need some variables of this process.
	variables := append(os.Environ(), "KUBECONFIG="+kubeconfig, "GORACE=halt_on_error=1")
	for _, v := range spec.Env {
		if v.ValueFrom == nil {
			variables = append(variables, v.Name+"="+v.Value)
		} else if v.ValueFrom.FieldRef != nil {
			variables = append(variables, v.Name+"="+pod.Namespace)
		}
	}
	elects, args := false, []string{}
	for _, arg := range spec.Args {
		if strings.HasPrefix(arg, "--enable-leader-election") && !strings.HasSuffix(arg, "=false") {
			elects = true
			if path == os.Getenv("PINTLE_REFERENCE") {
				continue
			}
		}
		args = append(args, strings.ReplaceAll(arg, eventsAddr, n.receiver))
	}
	// Fixed ports of several processes would conflict. Of repeated flags the last one applies.
	args = append(args, "--metrics-addr=0", "--health-addr=0")
	c := &container{
		Controller: harness.NewController(path, args, variables, filepath.Join(dir, pod.Namespace+"-"+pod.Name+".log")),
		namespace:  pod.Namespace, pod: pod.Name, image: spec.Image,
	}
	if elects && path == os.Getenv("PINTLE_REFERENCE") {
		return c, n.elect(c, kubeconfig, spec.Args)
	}
	return c, c.Start()
}

// stop ends the process and then releases its Lease.
func (c *container) stop() error {
	err := c.Stop(context.Background())
	if c.release != nil {
		c.release()
	}
	if err != nil {
		return fmt.Errorf("Pod %s/%s of %s: %w", c.namespace, c.pod, c.image, err)
	}
	return nil
}

// kubeconfig writes a kubeconfig with a token of the Pod's ServiceAccount, and returns its path.
func kubeconfig(ctx context.Context, pod *corev1.Pod) (string, error) {
	seconds := int64(60 * 60)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := env.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("token of %s/%s: %w", pod.Namespace, pod.Spec.ServiceAccountName, err)
	}
	path := filepath.Join(dir, pod.Namespace+"-"+pod.Name+".kubeconfig")
	return path, env.WriteKubeconfig(path, token.Status.Token)
}

// runs waits until the processes are exactly those of the given images.
func (n *node) runs(images ...string) {
	n.Helper()
	err := env.Until(n.Context(), fmt.Sprintf("processes of %v", images), func() (string, bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		left, seen, matches := len(images), []string{}, map[string]int{}
		for _, image := range images {
			matches[image]++
		}
		for _, c := range n.running {
			seen = append(seen, c.namespace+"/"+c.pod+" "+c.image)
			if image, _, _ := strings.Cut(c.image, ":"); c.PID() != 0 && matches[image] > 0 {
				matches[image]--
				left--
			}
		}
		return strings.Join(seen, ", "), n.failure != nil || left == 0 && len(n.running) == len(images)
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	if err = errors.Join(err, n.failure); err != nil {
		n.Fatal(err)
	}
}

// leader waits until a Pod of an image holds a Lease.
func (n *node) leader(lease client.ObjectKey, image string) {
	n.Helper()
	err := env.Until(n.Context(), lease.String()+" to be held by "+image, func() (string, bool) {
		holder := holder(n.Context(), lease)
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range n.running {
			if strings.HasPrefix(c.image, image) && c.holds(holder) {
				return holder, true
			}
		}
		return holder, false
	})
	if err != nil {
		n.Fatal(err)
	}
}
