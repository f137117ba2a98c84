'use strict';
// What may be in the sanitiser's output, written down from the numbered rules (S1, S4, S5) and not from the product's
// tables.

const words = text => new Set(text.split(' '));

const policy = {
  elements: words(
  'a abbr acronym address article aside audio b bdi bdo big blockquote br caption center cite code col ' +
  'colgroup data dd del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header ' +
  'hgroup hr i img ins kbd li main mark menu nav ol p picture pre q rp rt ruby s samp section small source ' +
  'span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var video wbr'),
  // S4: everywhere, then by element.
  everywhere: words('title lang dir'),
  own: {
    a: 'href',
    img: 'src srcset sizes alt width height',
    source: 'src srcset sizes type media',
    video: 'src poster controls width height',
    audio: 'src controls',
    blockquote: 'cite', q: 'cite', ins: 'cite datetime', del: 'cite datetime', time: 'datetime',
    td: 'colspan rowspan', th: 'colspan rowspan scope',
    ol: 'start type reversed', li: 'value', col: 'span', colgroup: 'span', details: 'open', data: 'value',
  },
  urls: words('cite href poster src'),
  // S5: absolute, of these schemes, without credentials.
  schemes: words('http https'),
  linkSchemes: words('http https mailto tel'),
};
