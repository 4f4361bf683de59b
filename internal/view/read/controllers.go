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
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/internal/view/doctor"
)

const (
	sourceController       = "source-controller"
	notificationController = "notification-controller"
)

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
		case isCalled(deployment, sourceController) && d.facts.Source.Namespace == "":
			d.facts.Source.Namespace, d.facts.Source.Name = deployment.Namespace, deployment.Name
			d.facts.Source.Ready = deployment.Status.ReadyReplicas
		case isCalled(deployment, notificationController):
			d.facts.Source.Notifications = true
		}
	}
	if d.facts.Source.Namespace != "" {
		d.readEndpoints(ctx)
		d.readNetworkPolicies(ctx)
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

func (d *examination) readLeases(ctx context.Context) {
	list := &coordinationv1.LeaseList{}
	if err := d.Client.List(ctx, list); err != nil {
		d.unread(doctor.ResourceLeases, err)
		return
	}
	for _, l := range list.Items {
		if !strings.HasPrefix(l.Name, helmv2.ControllerName+"-leader-election") {
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

// readEndpoints counts the ready addresses of the Service of source-controller.
func (d *examination) readEndpoints(ctx context.Context) {
	list := &discoveryv1.EndpointSliceList{}
	service := client.MatchingLabels{discoveryv1.LabelServiceName: sourceController}
	d.facts.Source.Endpoints = -1
	if err := d.Client.List(ctx, list, client.InNamespace(d.facts.Source.Namespace), service); err != nil {
		d.unread(doctor.ResourceEndpoints, err)
		return
	}
	if len(list.Items) == 0 {
		// The Service may have another name.
		return
	}
	d.facts.Source.Endpoints = 0
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				d.facts.Source.Endpoints += len(e.Addresses)
			}
		}
	}
}

// readNetworkPolicies finds out whether Pods of other namespaces may reach source-controller. Only
// policies for all Pods of the namespace are considered, such as those of Flux.
func (d *examination) readNetworkPolicies(ctx context.Context) {
	list := &networkingv1.NetworkPolicyList{}
	if err := d.Client.List(ctx, list, client.InNamespace(d.facts.Source.Namespace)); err != nil {
		d.unread(doctor.ResourcePolicies, err)
		return
	}
	restricted, open := false, false
	for _, p := range list.Items {
		selectsAll := len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions) == 0
		ofSource := p.Spec.PodSelector.MatchLabels["app"] == sourceController
		if !selectsAll && !ofSource || !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) && len(p.Spec.PolicyTypes) > 0 {
			continue
		}
		restricted = true
		for _, rule := range p.Spec.Ingress {
			open = open || hasArtifactPort(rule.Ports) && (len(rule.From) == 0 || slices.ContainsFunc(rule.From, isElsewhere))
		}
	}
	d.facts.Source.Isolated = restricted && !open
}

// artifactPort is the port of source-controller's file server.
const artifactPort = 9090

// hasArtifactPort reports whether the ports of a rule contain that of artifacts. No ports are all.
func hasArtifactPort(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		return p.Port == nil || p.Port.IntValue() == artifactPort || p.Port.StrVal == "http"
	})
}

// isElsewhere reports whether a peer may be in another namespace.
func isElsewhere(peer networkingv1.NetworkPolicyPeer) bool {
	return peer.NamespaceSelector != nil || peer.IPBlock != nil
}
