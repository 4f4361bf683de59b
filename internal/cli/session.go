// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Session has the streams, the clock and the flags that all commands share.
type Session struct {
	genericiooptions.IOStreams
	Now func() time.Time
	// Env returns an environment variable.
	Env func(name string) string
	// Terminal is true if the output is a terminal.
	Terminal bool

	// client and examine replace the access to the cluster in tests.
	client  client.WithWatch
	examine read.Examine
	logs    evidence.Opener
	stored  read.Stored
	differ  differ

	flags *genericclioptions.ConfigFlags
	// all is true for --all-namespaces.
	all bool
	out output
}

// connection has clients with the identity of the user.
type connection struct {
	client.WithWatch
	reader    *read.Reader
	logs      evidence.Opener
	namespace string
}

// connect makes the clients. Without all, the namespace is from its flag, or from the kubeconfig.
func (s *Session) connect() (*connection, error) {
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if s.all {
		namespace = ""
	}
	if c := s.client; c != nil {
		reader := &read.Reader{Client: c, Mapper: c.RESTMapper(), Allowed: read.Review(c), Examine: s.examine, Stored: s.stored, Now: s.Now}
		return &connection{WithWatch: c, reader: reader, logs: s.logs, namespace: namespace}, nil
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	scheme, err := read.Scheme()
	if err != nil {
		return nil, err
	}
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	reader := &read.Reader{Client: c, Mapper: mapper, Allowed: rightsReview(c, config, optionsOf(c)), Now: s.Now}
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	causes, err := evidence.New(user{config, web})
	if err != nil {
		return nil, err
	}
	reader.Examine, reader.Stored = causes.Examine, read.Storage(s.flags)
	pods, err := corev1client.NewForConfigAndClient(config, web)
	if err != nil {
		return nil, err
	}
	logs := func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		return pods.Pods(namespace).GetLogs(pod, options).Stream(ctx)
	}
	return &connection{WithWatch: c, reader: reader, logs: logs, namespace: namespace}, nil
}

// user is the identity that logs are read with.
type user struct {
	config *rest.Config
	client *http.Client
}

// ToRESTConfig implements evidence.Connection.
func (u user) ToRESTConfig() (*rest.Config, error) { return u.config, nil }

// HTTPClient implements evidence.Connection.
func (u user) HTTPClient() *http.Client { return u.client }

// rightsReview returns a function that checks a right of a ServiceAccount: by a SubjectAccessReview, or
// if the user may not create one, by a SelfSubjectAccessReview as that ServiceAccount.
func rightsReview(c client.Client, config *rest.Config, options client.Options) read.Allowed {
	review := read.Review(c)
	return func(ctx context.Context, account client.ObjectKey, right authorizationv1.ResourceAttributes) (bool, error) {
		ok, err := review(ctx, account, right)
		if !apierrors.IsForbidden(err) {
			return ok, err
		}
		impersonated := rest.CopyConfig(config)
		impersonated.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
		as, unmade := client.New(impersonated, options)
		if unmade != nil {
			return false, unmade
		}
		self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		if unasked := as.Create(ctx, self); unasked != nil {
			return false, fmt.Errorf("%w, and impersonation failed: %w", err, unasked)
		}
		return self.Status.Allowed, nil
	}
}

// optionsOf returns the options for another client like c.
func optionsOf(c client.Client) client.Options {
	return client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()}
}

// colors reports whether the output may have colours: it is a terminal that shows them, and the user
// does not forbid them.
func (s *Session) colors() bool {
	return s.Terminal && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb"
}
