// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/internal/view/doctor"
)

// leaseName is the name of the Lease of a controller. The Lease of a shard has a suffix.
const leaseName = helmv2.ControllerName + "-leader-election"

// Leads reports whether a controller reconciles HelmReleases. It is true if that is not known.
func (r *Reader) Leads(ctx context.Context) bool {
	d := &examination{Reader: r, facts: doctor.Facts{Now: r.Now()}}
	// Each node has a Lease, too. Most clusters have a controller that holds this one.
	if d.readLeases(ctx, client.MatchingFields{"metadata.name": leaseName}); d.facts.Leads() {
		return true
	}
	d.facts.Leases = nil
	d.readLeases(ctx)
	d.readControllers(ctx)
	return d.facts.Leads()
}

const notificationController = "notification-controller"

// readControllers reads the Deployments of controllers. Names, labels and images are hints: the
// Leases show which processes run.
func (d *examination) readControllers(ctx context.Context) {
	list := &appsv1.DeploymentList{}
	if err := d.Client.List(ctx, list); err != nil {
		d.unread(doctor.ResourceDeployments, err)
		return
	}
	for i := range list.Items {
		switch deployment := &list.Items[i]; {
		case isCalled(deployment, helmv2.ControllerName), isCalled(deployment, "pintle"):
			if c, ok := controllerOf(deployment); ok {
				d.facts.Controllers = append(d.facts.Controllers, c)
			}
		case isCalled(deployment, notificationController):
			d.facts.Notifications = deployment.Namespace
		}
	}
}

// isCalled reports whether the name, the label app or the image of a Deployment is a name.
func isCalled(deployment *appsv1.Deployment, name string) bool {
	if strings.HasPrefix(deployment.Name, name) || deployment.Spec.Template.Labels["app"] == name {
		return true
	}
	return slices.ContainsFunc(deployment.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		image := c.Image[strings.LastIndex(c.Image, "/")+1:]
		return image == name || strings.HasPrefix(image, name+":") || strings.HasPrefix(image, name+"@")
	})
}

// controllerOf parses the arguments of a Deployment as Pintle does. ok is false if it has no
// container.
func controllerOf(deployment *appsv1.Deployment) (c doctor.Controller, ok bool) {
	containers := deployment.Spec.Template.Spec.Containers
	if len(containers) == 0 {
		return c, false
	}
	i := max(0, slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "manager" }))
	container := containers[i]
	c = doctor.Controller{
		Namespace: deployment.Namespace, Name: deployment.Name, Image: container.Image,
		Replicas: 1, Ready: deployment.Status.ReadyReplicas, ServiceAccount: deployment.Spec.Template.Spec.ServiceAccountName,
	}
	if deployment.Spec.Replicas != nil {
		c.Replicas = *deployment.Spec.Replicas
	}
	var args []string
	for _, arg := range container.Args {
		args = append(args, expand(arg, container.Env, deployment.Namespace))
	}
	o, err := options.Parse(args, io.Discard)
	if err != nil {
		c.Refused = strings.Join(strings.Fields(err.Error()), " ")
	}
	if o != nil {
		c.Selector, c.DefaultServiceAccount, c.EventsAddr = o.WatchLabels, o.DefaultServiceAccount, o.EventsAddr
		c.AllNamespaces, c.LeaderElection, c.Parsed = o.WatchAllNamespaces, o.LeaderElection.Enable, true
	}
	return c, true
}

// expand replaces references to environment variables in an argument, as the kubelet does.
func expand(arg string, env []corev1.EnvVar, namespace string) string {
	for _, e := range env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
			value = namespace
		}
		arg = strings.ReplaceAll(arg, "$("+e.Name+")", value)
	}
	return arg
}

func (d *examination) readLeases(ctx context.Context, of ...client.ListOption) {
	list := &coordinationv1.LeaseList{}
	if err := d.Client.List(ctx, list, of...); err != nil {
		d.unread(doctor.ResourceLeases, err)
		return
	}
	for _, l := range list.Items {
		if !strings.HasPrefix(l.Name, leaseName) {
			continue
		}
		lease := doctor.Lease{Namespace: l.Namespace, Name: l.Name}
		if l.Spec.HolderIdentity != nil {
			lease.Holder = *l.Spec.HolderIdentity
		}
		if l.Spec.RenewTime != nil {
			lease.Renewed = l.Spec.RenewTime.Time
		}
		if l.Spec.LeaseDurationSeconds != nil {
			lease.Duration = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
		}
		d.facts.Leases = append(d.facts.Leases, lease)
	}
}
