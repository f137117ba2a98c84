'use strict';
// What the sanitiser's output may contain, derived from the sources and not from the product's tables: policy strict
// from the numbered rules (S1, S4, S5), policy classic from feedparser's published lists (sanitizer.py, urls.py).
// Classic has ruby, rt and rp, which feedparser added after 6.0.10, and lacks everything that rule S14 removes.

const words = text => new Set(text.split(' '));

const policies = {
  strict: {
    elements: words(
    'a abbr acronym address article aside audio b bdi bdo big blockquote br caption center cite code col ' +
    'colgroup data dd del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header ' +
    'hgroup hr i img ins kbd li main mark menu nav ol p picture pre q rp rt ruby s samp section small source ' +
    'span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var video wbr'),
    // S4: on all elements, then by element.
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
    // S5: absolute, with one of these schemes, without credentials.
    schemes: words('http https'),
    linkSchemes: words('http https mailto tel'),
  },
  classic: {
    elements: words(
    'a abbr acronym address area article aside audio b big blockquote br button canvas caption center cite code ' +
    'col colgroup command datagrid datalist dd del details dfn dialog dir div dl dt em event-source fieldset ' +
    'figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hr i img input ins kbd keygen label legend li ' +
    'm map menu meter multicol nav nextid noscript ol optgroup option output p pre progress q rp rt ruby s samp ' +
    'section select small sound source spacer span strike strong sub sup table tbody td textarea tfoot th thead ' +
    'time tr tt u ul var video'),
    everywhere: words(
    'abbr accept accept-charset accesskey action align alt autocomplete autofocus axis background balance ' +
    'bgcolor bgproperties border bordercolor bordercolordark bordercolorlight bottompadding cellpadding ' +
    'cellspacing ch challenge char charoff charset checked choff cite class clear color cols colspan compact ' +
    'contenteditable controls coords data datafld datapagesize datasrc datetime default delay dir disabled ' +
    'draggable dynsrc enctype end face for form frame galleryimg gutter headers height hidden hidefocus high ' +
    'href hreflang hspace icon id inputmode ismap keytype label lang leftspacing list longdesc loop loopcount ' +
    'loopend loopstart low lowsrc max maxlength media method min multiple name nohref noshade nowrap open ' +
    'optimum pattern ping point-size poster pqg preload prompt radiogroup readonly rel repeat-max repeat-min ' +
    'replace required rev rightspacing rows rowspan rules scope selected shape size span src start step style ' +
    'summary suppress tabindex target template title toppadding type unselectable urn usemap valign value ' +
    'variable volume vrml vspace width wrap xml:lang'),
    own: {},
    urls: words('action background cite data dynsrc formaction href icon longdesc lowsrc ping poster src usemap vrml'),
    // feedparser's list without file:; includes schemes that only name things or open another program.
    schemes: words(
        'ftp ftps gopher h323 hdl http https imap magnet mailto mms news nntp prospero rsync rtsp rtspu sftp shttp sip ' +
        'sips snews svn svn+ssh telnet wais aim callto cvs facetime feed git gtalk irc ircs irc6 itms msnim skype ssh ' +
        'smb ymsg tel sms ed2k tag urn uuid webcal xmpp rtmp geo bitcoin itpc pcast afp nfs gemini'),
    styles: words(
    'azimuth background-color border-bottom-color border-collapse border-color border-left-color ' +
    'border-right-color border-top-color clear color cursor direction display elevation float font font-family ' +
    'font-size font-style font-variant font-weight height letter-spacing line-height overflow pause pause-after ' +
    'pause-before pitch pitch-range richness speak speak-header speak-numeral speak-punctuation speech-rate ' +
    'stress text-align text-decoration text-indent unicode-bidi vertical-align voice-family volume white-space ' +
    'width'),
    styleFamilies: ['background', 'border', 'margin', 'padding'],
  },
};

