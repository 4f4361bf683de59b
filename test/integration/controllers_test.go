// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// labelController gives a HelmRelease to a controller of its test's own: the one
// that all tests share does not see it.
const labelController = "it.pintle.dev/controller"

// config is how one controller differs from another.
type config struct {
	settings inputs.Settings
	// httpTimeout bounds a download, concurrent is how many HelmReleases are visited
	// at a time; 5 s and 4 if they are zero.
	httpTimeout time.Duration
	concurrent  int
	// overridden are field managers that have no say.
	overridden []string
	// notifications, if set, posts events.
	notifications *events.Sender
	// wrap, if set, sees all requests.
	wrap clienttransport.WrapperFunc
	// withoutOperations is true of one that starts before there are Operations.
	withoutOperations bool
	// endpoint, if set, is the API server it uses.
	endpoint *rest.Config
	// defaultServiceAccount is whom Helm acts as where a HelmRelease names nobody.
	defaultServiceAccount string
	// name of a controller that sees only HelmReleases labelled with it.
	name string
}

// see narrows what the controller sees of HelmReleases.
func (c config) see(opts *ctrl.Options) error {
	text := "!" + labelController
	if c.name != "" {
		text = labelController + "=" + c.name
	}
	selector, err := labels.Parse(text)
	opts.Cache.ByObject[&helmv2.HelmRelease{}] = cache.ByObject{Label: selector}
	if !c.withoutOperations && os.Getenv("PINTLE_CRDS") == "" {
		opts.Cache.ByObject[&opsv1alpha1.Operation{}] = cache.ByObject{Label: selector}
	}
	return err
}

// ownController starts a controller for the duration of a test and returns what
// gives a HelmRelease to it.
func (w *world) ownController(c config) func(*helmv2.HelmRelease) {
	w.t.Helper()
	c.name = w.namespace
	stop, err := startController(c)
	w.must(err)
	w.t.Cleanup(func() {
		if err := stop(); err != nil {
			w.t.Error(err)
		}
	})
	return func(hr *helmv2.HelmRelease) { hr.Labels = map[string]string{labelController: c.name} }
}
